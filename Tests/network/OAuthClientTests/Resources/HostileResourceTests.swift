// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Lying resources and servers, which must not get any credentials.
struct HostileResourceTests {
    /// A false statement of the resource, and a part of the error message.
    struct Lie: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var word: String
        var document: [String: JSONValue] = [:]
        var metadata: [String: JSONValue] = [:]
        var issuer: String?

        init(
            _ description: String,
            _ word: String,
            document: [String: JSONValue] = [:],
            metadata: [String: JSONValue] = [:],
            issuer: String? = nil
        ) {
            testDescription = description
            self.word = word
            self.document = document
            self.metadata = metadata
            self.issuer = issuer
        }
    }

    private static let others = [
        "https://evil.example/v1/mcp", "http://127.0.0.1/v1/mcp", "https://api.example:8443/v1/mcp",
        "https://api.example/v1/mc", "https://api.example/v1/mcp/x", "https://api.example/v2",
        "https://api.example/v1/mcp/..", "https://api.example/v1/%2e%2E/v1",
        "https://api.example.evil.example/",
        "https://api.example/v1/mcp?x=1", "api.example/v1/mcp", "https://api.example@evil.example/", "",
    ]

    static let lies: [Lie] =
        others.map { Lie("of \($0)", "resource metadata is for", document: ["resource": .string($0)]) } + [
            Lie("no resource", "has no member resource", document: ["resource": .null]),
            Lie("a resource that is no text", "has no member resource", document: ["resource": 1]),
            Lie("no servers", "has no authorization_servers", document: ["authorization_servers": .null]),
            Lie("an empty list", "not a list", document: ["authorization_servers": []]),
            Lie("numbers for servers", "not a list", document: ["authorization_servers": [1]]),
            Lie(
                "a server without TLS",
                "must begin with https",
                document: ["authorization_servers": ["http://as.example"]]
            ),
            Lie("no server", "is not an absolute URL", document: ["authorization_servers": ["as.example"]]),
            Lie(
                "a server with a query",
                "contains a query",
                document: ["authorization_servers": ["https://as.example?x"]]
            ),
            Lie(
                "another issuer",
                "the server metadata is for issuer",
                metadata: ["issuer": "https://as.example"]
            ),
            Lie(
                "one slash more",
                "the server metadata is for issuer",
                metadata: ["issuer": "https://as.example/tenant/"]
            ),
            Lie(
                "other case",
                "the server metadata is for issuer",
                metadata: ["issuer": "https://AS.example/tenant"]
            ),
            Lie("no issuer", "has no issuer", metadata: ["issuer": .null]),
            Lie(
                "other resources",
                "does not issue tokens",
                metadata: ["protected_resources": ["https://b.example/"]]
            ),
            Lie(
                "a private endpoint",
                "private network",
                metadata: ["token_endpoint": "https://10.0.0.1/token"]
            ),
            Lie(
                "an endpoint without TLS",
                "must begin with https",
                metadata: ["token_endpoint": "http://as.example/t"]
            ),
            Lie(
                "not the configured issuer",
                "does not accept tokens from",
                issuer: "https://company.example"
            ),
        ]

    @Test(.holds("193"), arguments: lies)
    func `a lie is told, and gets nothing`(lie: Lie) async throws {
        let bench = try ResourceBench(issuer: lie.issuer)
        bench.exchange.always(ResourceBench.metadataURL, .json(ResourceBench.document(lie.document)))
        bench.exchange.always(ResourceBench.issuerURL, .json(ResourceBench.metadata(lie.metadata)))
        for place in ResourceBench.otherPlaces { bench.exchange.always(place, .json("", status: 404)) }
        let login = await bench.logIn()
        let failure = try #require(login.outcome.failure)
        #expect(failure.message.contains(lie.word), "\(failure.message)")
        #expect(failure.kind == .misconfigured)
        #expect(login.asked == nil && bench.posts.isEmpty)
        #expect(bench.asked.isSubset(of: ["api.example", "as.example"]))
        #expect(bench.exchange.sent.allSatisfy { $0.headers["authorization"] == nil })
    }

    @Test(arguments: [
        "https://api.example/v1/mcp", "https://api.example/v1/mcp/", "https://api.example/v1",
        "https://api.example",
        "https://api.example/", "https://API.example:443/v1/",
    ])
    func `a parent by whole segments stands for the resource`(resource: String) async throws {
        let bench = try ResourceBench()
        bench.exchange.always(
            ResourceBench.metadataURL,
            .json(ResourceBench.document(["resource": .string(resource)]))
        )
        let login = await bench.logIn()
        #expect(login.outcome.granted?.server?.resource == resource, "\(login.outcome)")
        #expect(bench.posts.first?.form["resource"] == resource)
    }

    @Test func `a server that lists its resources has to list this one`() async throws {
        let bench = try ResourceBench()
        let listed: JSONValue = ["https://b.example/", .string(ResourceBench.resource)]
        bench.exchange.always(
            ResourceBench.issuerURL,
            .json(ResourceBench.metadata(["protected_resources": listed]))
        )
        #expect(await bench.logIn().outcome.granted != nil)
    }

    @Test(arguments: ["a\\\"b", "é", "a\u{7F}", "\u{1B}[31m"])
    func `a scope that is none stops the login`(scope: String) async throws {
        let bench = try ResourceBench()
        bench.challenge("Bearer resource_metadata=\"\(ResourceBench.metadataURL)\", scope=\"\(scope)\"")
        let login = await bench.logIn()
        #expect(
            login.outcome.failure?.message.contains("invalid scopes") == true,
            "\(login.outcome)"
        )
        #expect(login.asked == nil)
    }

    @Test func `a scope for a shell is only a word in an address`() async throws {
        let bench = try ResourceBench()
        let scope = "$(id) `id` ;reboot"
        bench.challenge("Bearer resource_metadata=\"\(ResourceBench.metadataURL)\", scope=\"\(scope)\"")
        #expect(await bench.logIn().asked?.parameters["scope"] == scope)
    }

    @Test func `more scopes than any server has are too many`() async throws {
        for scopes in [(0..<65).map { "s\($0)" }, [String(repeating: "s", count: 2_001)]] {
            let bench = try ResourceBench()
            bench.challenge("Bearer resource_metadata=\"\(ResourceBench.metadataURL)\"")
            let list = JSONValue.array(scopes.map { .string($0) })
            bench.exchange.always(
                ResourceBench.metadataURL,
                .json(ResourceBench.document(["scopes_supported": list]))
            )
            #expect(await bench.logIn().outcome.failure?.kind == .misbehaved)
        }
    }

    @Test(.holds("193"), arguments: [301, 302, 303, 307, 308])
    func `a redirect leads nowhere`(status: Int) async throws {
        let moved = ScriptedExchange.Answer.json(
            "{}",
            status: status,
            headers: ["location": "https://evil.example/"]
        )
        for place in [ResourceBench.metadataURL, ResourceBench.issuerURL] {
            let bench = try ResourceBench()
            bench.exchange.always(place, moved)
            for other in ResourceBench.otherIssuerURLs {
                bench.exchange.always(other, .json("", status: 404))
            }
            let login = await bench.logIn()
            #expect(login.outcome.failure?.message.contains("\(status)") == true, "\(login.outcome)")
            #expect(!bench.asked.contains("evil.example") && bench.posts.isEmpty)
        }
    }

    @Test func `a document that is too large is no answer`() async throws {
        let bench = try ResourceBench()
        bench.exchange.always(ResourceBench.metadataURL, .failure(.oversized("the answer is too large")))
        #expect(await bench.logIn().outcome.failure?.kind == .misbehaved)
    }

    @Test(.holds("193")) func `a resource inside may lead inside, one outside may not`() async throws {
        for isInternal in [true, false] {
            let bench = try ResourceBench()
            bench.challenge(
                "Bearer resource_metadata=\"\(ResourceBench.metadataURL)\"",
                isInternal: isInternal
            )
            let login = await bench.logIn()
            #expect(login.outcome.granted?.server?.isPublic == !isInternal)
            let later = bench.exchange.sent.filter {
                $0.url == ResourceBench.metadataURL || $0.url == ResourceBench.issuerURL
            }
            #expect(later.count == 2 && later.allSatisfy { $0.publicAddressOnly == !isInternal })
        }
    }

    @Test func `an issuer that the configuration names may be anywhere`() async throws {
        let bench = try ResourceBench(issuer: ResourceBench.issuer)
        #expect(await bench.logIn().outcome.granted?.server?.isPublic == false)
        let asked = bench.exchange.sent.filter { $0.url == ResourceBench.issuerURL }
        #expect(!asked.isEmpty && asked.allSatisfy { !$0.publicAddressOnly })
    }
}
