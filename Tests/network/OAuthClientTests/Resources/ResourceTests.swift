// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Sessions at a protected resource (RFC 9728, RFC 8707).
struct ResourceTests {
    private static let found = DiscoveredServer(
        issuer: ResourceBench.issuer,
        resource: ResourceBench.resource,
        isPublic: true
    )

    @Test(.holds("193")) func `a login goes where the resource leads, and names the resource each time`()
        async throws
    {
        let bench = try ResourceBench()
        let (outcome, asked, steps) = await bench.logIn()
        let grant = try #require(outcome.granted, "\(outcome)")
        #expect(grant.server == Self.found)
        #expect(steps.first == .serverFound(Self.found, scopes: ["api:read"]))
        #expect(asked?.endpoint == "https://as.example/authorize")
        #expect(asked?.parameters["resource"] == ResourceBench.resource)
        #expect(asked?.parameters["scope"] == "api:read")
        #expect(bench.posts.map(\.form["resource"]) == [ResourceBench.resource])
        let refreshed = try await bench.refresh(of: grant.server)
        #expect(refreshed.granted != nil, "\(refreshed)")
        #expect(bench.posts.map(\.form["resource"]) == [ResourceBench.resource, ResourceBench.resource])
        let later = bench.exchange.sent.filter { $0.url != ResourceBench.resource }
        #expect(later.allSatisfy { $0.publicAddressOnly })
    }

    @Test func `a server that is known already is not announced again`() async throws {
        let bench = try ResourceBench()
        let present = PreviousLogin(scope: [], server: Self.found)
        #expect(await bench.logIn(present: present).steps.count == 1)
    }

    /// Tests the addresses of the metadata, each as the only one that responds.
    @Test(.holds("193")) func `without a hint the two well-known places are tried`() async throws {
        let places = [
            "https://api.example/.well-known/oauth-protected-resource/v1/mcp",
            "https://api.example/.well-known/oauth-protected-resource",
        ]
        for (number, page) in zip(places.indices, ["{}", "<!doctype html>", ""]) {
            let bench = try ResourceBench()
            bench.challenge(number == 0 ? "Bearer" : nil)
            for place in places { bench.exchange.always(place, .json(page, status: 404)) }
            bench.exchange.always(places[number], .json(ResourceBench.document()))
            #expect(await bench.logIn().outcome.granted != nil)
            #expect(bench.exchange.sent.map(\.url).filter(places.contains) == Array(places[...number]))
        }
    }

    /// The content of the first of two metadata addresses in a challenge.
    @Test(arguments: [
        "{}", "<!doctype html>", ResourceBench.document(["resource": "https://other.example/"]),
    ])
    func `of two addresses that a refusal names the first that is of use counts`(page: String) async throws {
        let bench = try ResourceBench()
        bench.challenge(
            #"Bearer resource_metadata="https://api.example/old", resource_metadata="\#(ResourceBench.metadataURL)""#
        )
        bench.exchange.always("https://api.example/old", .json(page, status: page.hasPrefix("<") ? 404 : 200))
        let outcome = await bench.logIn().outcome
        #expect(outcome.granted?.server == Self.found, "\(outcome)")
    }

    /// Challenges that name the metadata somewhere, among others and in odd forms.
    @Test(arguments: [
        "Basic realm=\"x\", Bearer resource_metadata=\"URL\"", "Bearer resource_metadata=URL",
        "bearer RESOURCE_METADATA = \"URL\"",
        "Bearer error=\"invalid_token\",resource_metadata=\"URL\" , scope=\"\"",
        "Bearer resource_metadata=\"URL\", resource_metadata=\"URL\"",
        "Bearer resource_metadata=\"\", resource_metadata=\"URL\"",
        "Bearer resource_metadata=\"/x\", resource_metadata=\"http://api.example/x\", resource_metadata=\"URL\"",
        "Bearer realm=\"x\" error=\"invalid_token\" resource_metadata=\"URL\"",
        "Bearer resource_metadata='URL', scope='api:read'",
        "DPoP algs=\"ES256\", Bearer realm=\"a, resource_metadata=\\\"b\\\"\", resource_metadata=\"URL\"",
    ])
    func `the metadata that a refusal names is found`(challenge: String) async throws {
        let bench = try ResourceBench()
        bench.challenge(challenge.replacing("URL", with: ResourceBench.metadataURL))
        let outcome = await bench.logIn().outcome
        #expect(outcome.granted?.server == Self.found, "\(outcome)")
        #expect(bench.asked.isSubset(of: ["api.example", "as.example"]))
    }

    /// Addresses in a challenge that lead nowhere: relative ones, those of a server that does not know its own
    /// scheme, and those of another path.
    @Test(arguments: [
        "", "/.well-known/oauth-protected-resource/v1/mcp", "http://api.example/meta",
        "https://api.example/v1/mcp/.well-known/oauth-protected-resource",
    ])
    func `a challenge that leads nowhere hides no well-known address`(named: String) async throws {
        for place in ["/v1/mcp", ""] {
            let bench = try ResourceBench()
            bench.challenge("Bearer resource_metadata=\"\(named)\"")
            if (try? EndpointURL(named)) != nil { bench.exchange.always(named, .json("", status: 404)) }
            bench.exchange.always(
                "https://api.example/.well-known/oauth-protected-resource\(place)",
                .json(ResourceBench.document())
            )
            let outcome = await bench.logIn().outcome
            #expect(outcome.granted?.server == Self.found, "\(outcome)")
        }
    }

    @Test func `more addresses than anybody names are not looked at`() async throws {
        let bench = try ResourceBench()
        let places = (0..<20).map { "https://api.example/place\($0)" } + [ResourceBench.metadataURL]
        for place in places.dropLast() { bench.exchange.always(place, .json("{}")) }
        bench.challenge("Bearer " + places.map { "resource_metadata=\"\($0)\"" }.joined(separator: ", "))
        #expect(await bench.logIn().outcome.failure != nil)
        #expect(bench.exchange.sent.count { places.contains($0.url) } == 4)
    }

    /// The form of the Model Context Protocol before resource metadata existed.
    @Test(arguments: ["https://api.example", "https://api.example/"])
    func `a resource without metadata may be its own authorization server`(issuer: String) async throws {
        let bench = try ResourceBench()
        bench.challenge("Bearer")
        let places = [
            "https://api.example/.well-known/oauth-protected-resource/v1/mcp",
            "https://api.example/.well-known/oauth-protected-resource",
        ]
        for place in places { bench.exchange.always(place, .json("{}", status: 404)) }
        let own = "https://api.example/.well-known/oauth-authorization-server"
        bench.exchange.always(own, .json(ResourceBench.metadata(["issuer": .string(issuer)])))
        let (outcome, asked, _) = await bench.logIn()
        let grant = try #require(outcome.granted, "\(outcome)")
        #expect(grant.server == DiscoveredServer(issuer: issuer, resource: nil, isPublic: true))
        #expect(asked?.parameters["resource"] == nil && bench.posts.allSatisfy { $0.form["resource"] == nil })
        #expect(try await bench.refresh(of: grant.server).granted != nil)
    }

    @Test func `an authorization server of another issuer is not the resource's own`() async throws {
        let bench = try ResourceBench()
        bench.challenge("Bearer")
        for place in ["/v1/mcp", ""] {
            let url = "https://api.example/.well-known/oauth-protected-resource" + place
            bench.exchange.always(url, .json("{}", status: 404))
        }
        let own = "https://api.example/.well-known/oauth-authorization-server"
        bench.exchange.always(own, .json(ResourceBench.metadata(["issuer": "https://evil.example"])))
        let outcome = await bench.logIn().outcome
        #expect(outcome.failure?.kind == .misconfigured, "\(outcome)")
        #expect(bench.posts.isEmpty)
    }

    @Test(.holds("193"))
    func `the server's metadata is looked for where its specifications put it, in their order`()
        async throws
    {
        let places = [
            ResourceBench.issuerURL, "https://as.example/.well-known/openid-configuration/tenant",
            "https://as.example/tenant/.well-known/openid-configuration",
        ]
        for (number, page) in zip(places.indices, ["{}", "<!doctype html>", ""]) {
            let bench = try ResourceBench()
            for place in places { bench.exchange.always(place, .json(page, status: 404)) }
            bench.exchange.always(places[number], .json(ResourceBench.metadata()))
            #expect(await bench.logIn().outcome.granted != nil)
            #expect(bench.exchange.sent.map(\.url).filter(places.contains) == Array(places[...number]))
        }
    }

    /// The scopes of the session, the challenge, the metadata and the server, and the requested scopes.
    @Test(
        arguments: [
            (["x"], "a b", ["c"], nil, ["x"]), ([], "a b a", ["c"], nil, ["a", "b"]),
            ([], nil, ["c", "d"], nil, ["c", "d"]),
            ([], nil, [], nil, []), ([], "a", [], ["a", "offline_access"], ["a", "offline_access"]),
            (["x"], "a", [], ["offline_access"], ["x"]),
            ([], "offline_access", [], ["offline_access"], ["offline_access"]),
        ] as [([String], String?, [String], [String]?, [String])]
    )
    func `scopes are the session's, else the challenge's, else the resource's`(
        own: [String],
        challenged: String?,
        listed: [String],
        offered: [String]?,
        asked: [String]
    ) async throws {
        let bench = try ResourceBench { $0.scopes = own }
        let scope = challenged.map { ", scope=\"\($0)\"" } ?? ""
        bench.challenge("Bearer resource_metadata=\"\(ResourceBench.metadataURL)\"\(scope)")
        let scopes = JSONValue.array(listed.map { .string($0) })
        bench.exchange.always(
            ResourceBench.metadataURL,
            .json(ResourceBench.document(["scopes_supported": scopes]))
        )
        let offer = offered.map { JSONValue.array($0.map { .string($0) }) } ?? .null
        bench.exchange.always(
            ResourceBench.issuerURL,
            .json(ResourceBench.metadata(["scopes_supported": offer]))
        )
        let login = await bench.logIn()
        #expect(login.outcome.granted != nil, "\(login.outcome)")
        #expect((login.asked?.parameters["scope"] ?? "") == asked.joined(separator: " "))
    }

    @Test func `a challenge for tokens that are bound to a key says the same`() async throws {
        let bench = try ResourceBench()
        let place = "resource_metadata=\"\(ResourceBench.metadataURL)\""
        bench.challenge("DPoP algs=\"ES256\", \(place), scope=\"api:bound\"")
        #expect(try await bench.server.offer().scopes.first == "api:bound")
    }

    @Test(arguments: [true, false])
    func `of several servers it is the configured one, else the first`(isConfigured: Bool) async throws {
        let other = "https://other.example"
        let bench = try ResourceBench(issuer: isConfigured ? ResourceBench.issuer : nil)
        let servers: JSONValue = [.string(other), .string(ResourceBench.issuer)]
        bench.exchange.always(
            ResourceBench.metadataURL,
            .json(ResourceBench.document(["authorization_servers": servers]))
        )
        bench.exchange.always("\(other)/.well-known/oauth-authorization-server", .json("{}", status: 404))
        bench.exchange.always("\(other)/.well-known/openid-configuration", .json("{}", status: 404))
        let login = await bench.logIn()
        #expect((login.outcome.granted?.server?.issuer == ResourceBench.issuer) == isConfigured)
        #expect(bench.asked.contains("other.example") != isConfigured)
    }

    @Test(.holds("193")) func `an issuer that changed is followed only by a person`() async throws {
        let bench = try ResourceBench()
        let present = PreviousLogin(
            scope: [],
            server: DiscoveredServer(
                issuer: "https://old.example",
                resource: ResourceBench.resource,
                isPublic: true
            )
        )
        let silent = await bench.logIn(present: present, isUnattended: true).outcome
        #expect(silent.failure?.code == "issuer_changed" && silent.failure?.kind == .misconfigured)
        let refreshed = try await bench.refresh(of: present.server)
        #expect(refreshed.failure?.kind == .misconfigured && refreshed.failure?.code == "issuer_changed")
        #expect(bench.posts.isEmpty)
        let attended = await bench.logIn(present: present)
        #expect(attended.outcome.granted?.server == Self.found)
        #expect(attended.steps.first == .serverFound(Self.found, scopes: ["api:read"]))
    }

    @Test func `a resource that is away or says nonsense holds up no refresh`() async throws {
        for answer in [ScriptedExchange.Answer.failure(.unreachable("away")), .json("{}", status: 500)] {
            let bench = try ResourceBench()
            bench.exchange.always(ResourceBench.resource, answer)
            bench.exchange.always("https://api.example/.well-known/oauth-protected-resource/v1/mcp", answer)
            for _ in 0..<3 { #expect(try await bench.refresh(of: Self.found).granted != nil) }
            #expect(bench.exchange.sent.count { $0.url == ResourceBench.resource } == 1)
        }
    }

    @Test func `a session that needs nobody asks at the configured issuer, for the resource`() async throws {
        let bench = try ResourceBench(issuer: ResourceBench.issuer) { $0.flow = .clientCredentials }
        let place = DiscoveredServer(issuer: ResourceBench.issuer, resource: ResourceBench.resource)
        for server in [nil, place] {
            let request = RefreshRequest(
                attempt: AttemptNumber(rawValue: 1),
                renewal: .withoutLogin,
                variant: .primary,
                server: server
            )
            let outcome = await bench.server.refresh(request)
            #expect(outcome.granted?.origin?.server == place, "\(outcome)")
            #expect(bench.posts.last?.form["grant_type"] == "client_credentials")
            #expect(bench.posts.last?.form["resource"] == ResourceBench.resource)
            #expect(bench.posts.last?.form["scope"] == "api:read")
        }
    }

    @Test func `a logout goes to the server of the login`() async throws {
        let bench = try ResourceBench()
        bench.exchange.always("https://as.example/revoke", .json("{}"))
        let tokens = RevocationRequest(
            refreshToken: try bench.memory.sealing("rt", as: .refreshToken),
            accessToken: nil,
            tokenEndpoint: ResourceBench.tokenURL,
            server: Self.found
        )
        #expect(await bench.server.revoke(tokens) == .revoked)
        #expect(bench.asked == ["as.example"])
    }
}
