// SPDX-License-Identifier: MIT

import ServerSettings
import Synchronization
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Dynamic client registration (RFC 7591, RFC 7592).
struct RegistrationTests {
    private static let place = "https://id.example/tenant/register"
    private static let good = #"{"client_id":"c-1","token_endpoint_auth_method":"none"}"#

    private static func profile(_ change: (inout ServerProfile) -> Void = { _ in }) -> ServerProfile {
        var profile = TestIssuer.profile()
        profile.client = ClientIdentity("", introduction: ClientRegistrationOptions())
        profile.scopes = ["api"]
        change(&profile)
        return profile
    }

    /// Returns a server that registers clients if `answer` is not `nil`, and accepts them at its token endpoint.
    private func bench(
        _ answer: String? = good,
        metadata: [String: JSONValue] = [:],
        _ change: (inout ServerProfile) -> Void = { _ in }
    ) throws -> Bench {
        let bench = try Bench(Self.profile(change), sleep: BrowserLoginTests.forEver)
        var members: [String: JSONValue] = [
            "registration_endpoint": .string(Self.place), "scopes_supported": ["api", "admin"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
        ]
        members.merge(metadata) { $1 }
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata(members)))
        if let answer { bench.exchange.always(Self.place, .json(answer, status: 201)) }
        knows(true, bench)
        return bench
    }

    private func knows(_ isKnown: Bool, _ bench: Bench) {
        bench.exchange.always(
            TestIssuer.tokenEndpoint,
            isKnown
                ? .json(#"{"access_token":"at","refresh_token":"rt","expires_in":60}"#)
                : .json(#"{"error":"invalid_client"}"#, status: 401)
        )
    }

    private func logIn(_ bench: Bench) async -> (LoginOutcome, OpenedAddress?) {
        let opened = Mutex<OpenedAddress?>(nil)
        let person = ScriptedPerson(
            memory: bench.memory,
            whenTold: { step in
                guard let address = OpenedAddress(step) else { return }
                opened.withLock { $0 = address }
                Task { try await address.redirect("code=c0de&state=\(address.state)") }
            }
        )
        let outcome = await bench.server.logIn(LoginRequest(), conversation: person)
        return (outcome, opened.withLock { $0 })
    }

    @Test(.holds("194")) func `a login without a client registers one, for every scope, and keeps it`()
        async throws
    {
        let bench = try bench()
        let (outcome, asked) = await logIn(bench)
        let grant = try #require(outcome.granted, "\(outcome)")
        #expect(grant.server == DiscoveredServer(issuer: TestIssuer.url, client: "c-1"))
        let sent = try #require(bench.exchange.posts(to: Self.place).first?.json)
        #expect(sent["token_endpoint_auth_method"] == "none" && sent["scope"] == "api admin")
        let addresses = sent["redirect_uris"]?.array?.compactMap(\.string) ?? []
        #expect(addresses.count == 8 && Set(addresses).count == 8)
        #expect(addresses.contains(asked?.parameters["redirect_uri"] ?? ""))
        #expect(asked?.parameters["client_id"] == "c-1")
        let (_, again) = await logIn(bench)
        #expect(again?.parameters["client_id"] == "c-1")
        #expect(bench.exchange.posts(to: Self.place).count == 1)
    }

    @Test(.holds("194"))
    func `a client that the server has forgotten is registered anew before the browser opens`()
        async throws
    {
        let bench = try bench()
        _ = await logIn(bench)
        knows(false, bench)
        bench.exchange.always(Self.place, .json(#"{"client_id":"c-2"}"#, status: 200))
        let (outcome, asked) = await logIn(bench)
        #expect(asked?.parameters["client_id"] == "c-2")
        #expect(bench.exchange.posts(to: Self.place).count == 2)
        // The server does not know the new client either, so this login fails.
        #expect(outcome.failure?.code == "invalid_client")
    }

    @Test(.holds("194")) func `a secret that ends soon is replaced`() async throws {
        let end = TestIssuer.now + 500
        let answer = #"{"client_id":"c-1","client_secret":"s","client_secret_expires_at":\#(end)}"#
        let bench = try bench(
            answer,
            metadata: ["token_endpoint_auth_methods_supported": ["client_secret_post"]]
        )
        _ = await logIn(bench)
        _ = await logIn(bench)
        #expect(bench.exchange.posts(to: Self.place).count == 2)
        #expect(
            bench.exchange.posts(to: TestIssuer.tokenEndpoint).allSatisfy { $0.form["client_secret"] == "s" }
        )
    }

    @Test(arguments: ["0", "null", "\"soon\"", "-1", "1e300", "1e999", "99999999999999999999"])
    func `a secret without an end that makes sense has none`(end: String) async throws {
        let bench = try bench(
            #"{"client_id":"c-1","client_secret":"s","client_secret_expires_at":\#(end)}"#,
            metadata: ["token_endpoint_auth_methods_supported": ["client_secret_post"]]
        )
        for _ in 0..<2 { #expect(await logIn(bench).0.granted != nil) }
        #expect(bench.exchange.posts(to: Self.place).count == 1)
    }

    @Test(.holds("194")) func `many who log in at once have one client`() async throws {
        let registrar = Registrar()
        let purpose = ClientRegistration.LookupKey(issuer: "i", redirectURI: "r", authentication: "automatic")
        let count = Counter()
        let clients = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let found = try? await registrar.registration(for: purpose) {
                        _ throws(RefreshFailure) in
                        .good
                    } register: { () throws(RefreshFailure) in
                        let number = count.next()
                        for _ in 0..<1_000 { await Task.yield() }
                        return ClientRegistration(
                            purpose: purpose,
                            clientID: "c\(number)",
                            redirectURIs: [],
                            method: "none"
                        )
                    }
                    return found?.clientID
                }
            }
            return await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(clients == ["c1"] && count.next() == 2)
    }

    @Test(.holds("194")) func `a refresh is the client's that logged in, and nobody's else`() async throws {
        let bench = try bench()
        let grant = try #require(await logIn(bench).0.granted)
        var request = grant.refreshRequest()
        request.server = grant.server
        #expect(await bench.server.refresh(request).granted != nil)
        #expect(bench.exchange.posts(to: TestIssuer.tokenEndpoint).last?.form["client_id"] == "c-1")
        let before = bench.exchange.sent.count
        for server in [nil, DiscoveredServer(issuer: TestIssuer.url, client: "other")] {
            request.server = server
            #expect(await bench.server.refresh(request).failure?.kind == .clientUnknown)
        }
        #expect(bench.exchange.sent.count == before)
    }

    @Test func `a refresh that the server knows no client for says that a login registers another`()
        async throws
    {
        let bench = try bench()
        let grant = try #require(await logIn(bench).0.granted)
        var request = grant.refreshRequest()
        request.server = grant.server
        knows(false, bench)
        let failure = try #require(await bench.server.refresh(request).failure)
        #expect(failure.kind == .clientUnknown && failure.code == "invalid_client")
        #expect(
            failure.message.hasPrefix("the server no longer knows the registered client: ")
        )
    }

    @Test func `a server that cannot read our document for a while has forgotten no client`() async throws {
        let document = "https://app.example/client.json"
        let bench = try bench(metadata: ["client_id_metadata_document_supported": true]) {
            $0.client.introduction?.document = document
        }
        let grant = try #require(await logIn(bench).0.granted)
        var request = grant.refreshRequest()
        request.server = grant.server
        knows(false, bench)
        let failure = try #require(await bench.server.refresh(request).failure)
        #expect(failure.kind == .clientRejected && failure.remedy?.text.contains(document) == true)
    }

    @Test func `a refresh token of another client is not imported`() async throws {
        let bench = try bench()
        let request = LoginRequest(flow: .import, secret: try bench.secret("rt"))
        let outcome = await bench.server.logIn(request, conversation: ScriptedPerson(memory: bench.memory))
        #expect(outcome.failure?.remedy?.text.contains("client_id") == true, "\(outcome)")
        #expect(bench.exchange.posts(to: Self.place).isEmpty)
    }

    @Test(.holds("194")) func `a server that reads documents is given the address of ours`() async throws {
        let document = "https://app.example/client.json"
        for isRead in [true, false] {
            let bench = try bench(metadata: ["client_id_metadata_document_supported": .bool(isRead)]) {
                $0.client.introduction?.document = document
            }
            let (outcome, asked) = await logIn(bench)
            let client = isRead ? document : "c-1"
            #expect(asked?.parameters["client_id"] == client)
            var request = try #require(outcome.granted).refreshRequest()
            request.server = outcome.granted?.server
            #expect(await bench.server.refresh(request).granted != nil)
            #expect(bench.exchange.posts(to: TestIssuer.tokenEndpoint).last?.form["client_id"] == client)
        }
    }

    /// Invalid registration responses.
    @Test(arguments: [
        "{}", #"{"client_id":""}"#, #"{"client_id":7}"#, #"{"client_id":"a\u0000b"}"#,
        #"{"client_id":"c","token_endpoint_auth_method":"client_secret_post"}"#,
        #"{"client_id":"c","token_endpoint_auth_method":"private_key_jwt"}"#,
        #"{"client_id":"c","redirect_uris":["https://evil.example/"]}"#,
        #"{"error":"invalid_client_metadata"}"#,
    ])
    func `an answer that makes no client ends the login`(answer: String) async throws {
        let bench = try bench(answer)
        let (outcome, asked) = await logIn(bench)
        #expect(outcome.failure != nil && asked == nil)
        #expect(bench.exchange.posts(to: TestIssuer.tokenEndpoint).isEmpty)
    }

    /// Support of the device grant by the server, and the number of registration requests if it rejects them.
    @Test(arguments: [(true, 2), (false, 1)])
    func `a server that refuses the device grant is asked once more, without it`(
        offersDevices: Bool,
        count: Int
    ) async throws {
        let bench = try bench(
            nil,
            metadata: offersDevices ? [:] : ["device_authorization_endpoint": .null]
        )
        let other = "https://id.example/.well-known/oauth-authorization-server/tenant"
        bench.exchange.always(other, .json("{}", status: 404))
        let refusal = #"{"error":"invalid_client_metadata"}"#
        for _ in 0..<count { bench.exchange.expect(Self.place, status: 400, refusal) }
        let refused = try #require(await logIn(bench).0.failure)
        #expect(refused.message.contains("invalid_client_metadata") && refused.remedy != nil)
        if offersDevices { bench.exchange.expect(Self.place, status: 400, refusal) }
        bench.exchange.expect(Self.place, status: 201, Self.good)
        #expect(await logIn(bench).0.granted != nil)
        #expect(bench.exchange.isExhausted)
        let grants = bench.exchange.posts(to: Self.place).map { $0.json?["grant_types"]?.array?.count ?? 0 }
        #expect(grants == (offersDevices ? [3, 2, 3, 2] : [2, 2]))
    }

    @Test func `a server that registers nobody is told with the remedy`() async throws {
        let bench = try bench(metadata: ["registration_endpoint": .null])
        let failure = try #require(await logIn(bench).0.failure)
        #expect(
            failure.kind == .misconfigured && failure.message.contains("does not support client registration")
        )
        #expect(failure.remedy?.text.contains("client_id") == true)
    }

    @Test(
        .holds("194"),
        arguments: ["https://id.example/tenant/clients/c-1", "https://evil.example/clients/c-1"]
    )
    func `a client is deleted with its own token, where that came from`(address: String) async throws {
        let answer =
            #"{"client_id":"c-1","registration_client_uri":"\#(address)","registration_access_token":"m4nage"}"#
        let bench = try bench(answer)
        bench.exchange.always(address, .json("", status: 204))
        let grant = try #require(await logIn(bench).0.granted)
        await bench.server.unregister(grant.server)
        let asked = bench.exchange.sent.filter { $0.url == address }
        #expect(
            asked.map { $0.headers["authorization"] } == (address.contains("evil") ? [] : ["Bearer m4nage"])
        )
        _ = await logIn(bench)
        #expect(bench.exchange.posts(to: Self.place).count == 2)
    }
}

/// Counts what happens in many tasks.
private final class Counter: Sendable {
    private let value = Mutex(0)

    func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
