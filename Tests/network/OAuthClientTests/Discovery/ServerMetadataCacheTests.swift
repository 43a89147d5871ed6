// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

struct ServerMetadataCacheTests {
    @Test(
        .holds("O32"),
        arguments: [
            (
                "https://id.example", "https://id.example/.well-known/openid-configuration",
                "https://id.example/.well-known/oauth-authorization-server"
            ),
            (
                "https://id.example/", "https://id.example/.well-known/openid-configuration",
                "https://id.example/.well-known/oauth-authorization-server"
            ),
            (
                "https://id.example/a/b", "https://id.example/a/b/.well-known/openid-configuration",
                "https://id.example/.well-known/oauth-authorization-server/a/b"
            ),
            (
                "https://id.example:8443/a/", "https://id.example:8443/a/.well-known/openid-configuration",
                "https://id.example:8443/.well-known/oauth-authorization-server/a"
            ),
        ]
    )
    func `well-known addresses are appended or inserted`(issuer: String, openID: String, oauth: String) throws
    {
        let url = try EndpointURL(issuer)
        #expect(WellKnownURL.openID(url) == openID)
        #expect(WellKnownURL.authorizationServer(url) == oauth)
    }

    func metadata(
        _ document: String,
        isInternal: Bool = false
    ) async throws -> Result<ServerMetadata, RefreshFailure> {
        let bench = try Bench(TestIssuer.profile())
        let reply = ServerResponse(status: 200, body: Array(document.utf8), isInternal: isInternal)
        bench.exchange.always(TestIssuer.discoveryURL, .reply(reply))
        bench.exchange.always(TestIssuer.oauthURL, .json("", status: 404))
        do throws(RefreshFailure) {
            return .success(try await bench.server.discovery.metadata())
        } catch {
            return .failure(error)
        }
    }

    @Test(
        .holds("87", "O31", "O33", "O34"),
        arguments: [
            ["issuer": "https://id.example/tenant/"], ["issuer": "https://id.example/other"],
            ["issuer": "https://ID.example/tenant"],
            ["issuer": .null], ["issuer": 7], ["token_endpoint": .null], ["token_endpoint": 7],
            ["token_endpoint": "http://id.example/token"], ["token_endpoint": "/token"],
            ["token_endpoint": "https://id.example/#x"], ["token_endpoint": ""],
            ["token_endpoint": "https://127.0.0.1/token"], ["token_endpoint": "https://[::1]/token"],
            ["token_endpoint": "https://localhost/token"], ["token_endpoint": "https://a.localhost/token"],
            ["token_endpoint": "https://[::ffff:10.0.0.1]/"], ["issuer": ""],
            ["issuer": "https://id.example/é"],
        ] as [[String: JSONValue]]
    )
    func `nothing of a bad document is used`(changes: [String: JSONValue]) async throws {
        let result = try await metadata(TestIssuer.metadata(changes))
        guard case .failure(let failure) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(failure.kind == .misconfigured)
    }

    /// An optional endpoint that cannot be used, and why.
    @Test(
        .holds("87"),
        arguments: [
            (
                "authorization_endpoint", "https://me:pw@id.example/",
                "must not contain a user name or password"
            ),
            ("jwks_uri", "file:///etc/passwd", "must begin with https://"),
            ("revocation_endpoint", "", "is empty"),
            ("end_session_endpoint", "/logout", "is not an absolute URL"),
            ("registration_endpoint", 7, "is not a string"),
            (
                "device_authorization_endpoint", "http://id.example/device",
                "must begin with https:// (plain http is for this machine only)"
            ),
            ("device_authorization_endpoint", "http://localhost/", "points into a private network"),
            ("jwks_uri", "https://169.254.169.254/latest", "points into a private network"),
            ("revocation_endpoint", "https://10.0.0.1/", "points into a private network"),
            ("end_session_endpoint", "https://LOCALHOST./", "points into a private network"),
            ("jwks_uri", "https://[fe80::1]/", "points into a private network"),
            (
                "pushed_authorization_request_endpoint", "https://[::ffff:10.0.0.1]/",
                "points into a private network"
            ),
        ] as [(String, JSONValue, String)]
    )
    func `an optional endpoint that cannot be used is as if it were not there`(
        name: String,
        value: JSONValue,
        reason: String
    ) async throws {
        let found = try await metadata(TestIssuer.metadata([name: value])).get()
        let without = try await metadata(TestIssuer.metadata([name: .null])).get()
        #expect(without.remarks.isEmpty)
        var expected = IssuerCapabilities(without)
        expected.remarks = ["ignored \(name): it \(reason)"]
        #expect(IssuerCapabilities(found) == expected)
        #expect(found.token == without.token && found.keySet == without.keySet)
    }

    @Test func `an endpoint that the other document has in order is used`() async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(
            TestIssuer.discoveryURL,
            TestIssuer.metadata(["revocation_endpoint": "/revoke"])
        )
        bench.exchange.expect(TestIssuer.oauthURL, TestIssuer.metadata())
        let metadata = try await bench.server.discovery.metadata()
        #expect(metadata.revocation?.description == "https://id.example/tenant/revoke")
        #expect(metadata.remarks.isEmpty)
    }

    @Test(.holds("O34")) func `nothing of a bad document is remembered, and what was known stays`()
        async throws
    {
        let bench = try Bench(TestIssuer.profile())
        let discovery = bench.server.discovery
        let bad = TestIssuer.metadata([
            "issuer": "https://evil.example", "token_endpoint": "https://evil.example/",
        ])
        bench.exchange.always(TestIssuer.oauthURL, .json("", status: 404))
        bench.exchange.expect(TestIssuer.discoveryURL, bad)
        await #expect(throws: RefreshFailure.self) { try await discovery.metadata() }
        bench.exchange.expect(TestIssuer.discoveryURL, TestIssuer.metadata())
        let good = try await discovery.metadata()
        #expect(good.token.description == TestIssuer.tokenEndpoint)
        bench.clock.advance(by: ServerMetadataCache.lifetime)
        bench.exchange.expect(TestIssuer.discoveryURL, bad)
        #expect(try await discovery.metadata() == good)
        #expect(bench.exchange.isExhausted)
    }

    @Test func `metadata that a login has failed by are read again by the next one`() async throws {
        let bench = try Bench(TestIssuer.profile())
        let demanding = TestIssuer.metadata([
            "require_pushed_authorization_requests": true, "pushed_authorization_request_endpoint": .null,
        ])
        bench.exchange.expect(TestIssuer.discoveryURL, demanding)
        let login = LoginRequest(flow: .browser, pastesRedirect: true)
        let outcome = await bench.server.logIn(
            login,
            conversation: ScriptedPerson(memory: bench.memory) { _ in nil }
        )
        #expect(outcome.failure?.remedy == .retry("after the server's metadata has been corrected"))
        bench.exchange.expect(TestIssuer.discoveryURL, TestIssuer.metadata())
        for _ in 0..<2 { #expect(try await !bench.server.discovery.metadata().wantsPushedRequests) }
        #expect(bench.exchange.isExhausted)
    }

    @Test(.holds("O33")) func `a query of an endpoint is kept`() async throws {
        let document = TestIssuer.metadata(["token_endpoint": "https://id.example/token?tenant=7"])
        #expect(try await metadata(document).get().token.description == "https://id.example/token?tenant=7")
    }

    @Test func `an issuer inside a private network may have its endpoints there`() async throws {
        let document = TestIssuer.metadata(["token_endpoint": "https://10.0.0.1/token"])
        let metadata = try await metadata(document, isInternal: true).get()
        #expect(!metadata.publicAddressOnly(metadata.token))
    }

    @Test(.holds("87")) func `requests to hosts that only the metadata names must end at a public address`()
        async throws
    {
        let document = TestIssuer.metadata(["token_endpoint": "https://tokens.example/token"])
        let metadata = try await metadata(document).get()
        #expect(metadata.publicAddressOnly(metadata.token))
        let keySet = try #require(metadata.keySet)
        #expect(!metadata.publicAddressOnly(keySet))
    }

    @Test func `the OAuth document fills what the OpenID one lacks`() async throws {
        let bench = try Bench(TestIssuer.profile())
        let openID: [String: JSONValue] = [
            "revocation_endpoint": .null, "device_authorization_endpoint": .null,
        ]
        bench.exchange.expect(TestIssuer.discoveryURL, TestIssuer.metadata(openID))
        bench.exchange.expect(TestIssuer.oauthURL, TestIssuer.metadata())
        let metadata = try await bench.server.discovery.metadata()
        #expect(metadata.revocation?.description == "https://id.example/tenant/revoke")
        #expect(metadata.deviceAuthorization?.description == "https://id.example/tenant/device")
    }

    @Test func `documents that name different token endpoints are not mixed`() async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(TestIssuer.discoveryURL, TestIssuer.metadata(["revocation_endpoint": .null]))
        let other = TestIssuer.metadata(["token_endpoint": "https://id.example/elsewhere"])
        bench.exchange.expect(TestIssuer.oauthURL, other)
        #expect(try await bench.server.discovery.metadata().revocation == nil)
    }

    @Test(.holds("O30")) func `the OAuth document stands alone where there is no OpenID one`() async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(TestIssuer.discoveryURL, status: 404, "")
        bench.exchange.expect(TestIssuer.oauthURL, TestIssuer.metadata())
        #expect(try await bench.server.discovery.metadata().token.description == TestIssuer.tokenEndpoint)
    }

    @Test(
        .holds("79"),
        arguments: [
            (ScriptedExchange.Answer.json("<html>portal</html>"), FailureClass.busy),
            (.json("", status: 503), .busy),
            (.json("", status: 302), .busy), (.failure(.unreachable("x")), .unreachable),
            (.failure(.insecure("x")), .insecure),
        ]
    )
    func `a portal or an outage is not a wrong configuration`(
        answer: ScriptedExchange.Answer,
        kind: FailureClass
    ) async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(TestIssuer.discoveryURL, answer)
        bench.exchange.always(TestIssuer.oauthURL, .json("", status: 404))
        let failure = await #expect(throws: RefreshFailure.self) {
            try await bench.server.discovery.metadata()
        }
        #expect(failure?.kind == kind)
    }

    @Test func `metadata is fetched once a day, and stays when the server is away`() async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(TestIssuer.discoveryURL, TestIssuer.metadata())
        let first = try await bench.server.discovery.metadata()
        bench.clock.advance(by: .seconds(86_399))
        #expect(try await bench.server.discovery.metadata() == first)
        #expect(bench.exchange.sent.count == 1)
        bench.clock.advance(by: .seconds(2))
        bench.exchange.expect(TestIssuer.discoveryURL, status: 500, "")
        #expect(try await bench.server.discovery.metadata() == first)
        #expect(bench.exchange.isExhausted)
    }

    @Test func `askers at the same time share one fetch`() async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(TestIssuer.discoveryURL, TestIssuer.metadata())
        let discovery = bench.server.discovery
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await discovery.metadata() } }
            try await group.waitForAll()
        }
        #expect(bench.exchange.sent.count == 1)
    }
}
