// SPDX-License-Identifier: MIT

import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Metadata documents that violate the standards, and the messages about them.
struct OddMetadataTests {
    private static let mark = "\u{FEFF}"

    private func bench(_ metadata: String) throws -> Bench {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.always(TestIssuer.discoveryURL, .json(metadata))
        bench.exchange.always(TestIssuer.oauthURL, .json("", status: 404))
        return bench
    }

    private func logIn(_ bench: Bench, keySet: String? = nil) async throws -> LoginOutcome {
        let issuer = try await TestIssuer()
        bench.exchange.always(TestIssuer.keySetURL, .json(keySet ?? issuer.keySet))
        bench.exchange.expect(
            TestIssuer.tokenEndpoint,
            #"{"access_token":"at","refresh_token":"rt","id_token":"\#(try issuer.idToken())"}"#
        )
        let person = ScriptedPerson(memory: bench.memory) { _ in "alice" }
        return await bench.server.logIn(LoginRequest(flow: .password), conversation: person)
    }

    /// Case bom.
    @Test func `a byte order mark before metadata and keys says nothing`() async throws {
        let keys = Self.mark + (try await TestIssuer().keySet)
        let outcome = try await logIn(try bench(Self.mark + TestIssuer.metadata()), keySet: keys)
        #expect(outcome.granted?.subject == "alice", "\(outcome)")
    }

    @Test func `nor does one before what a resource and its server publish`() async throws {
        let bench = try ResourceBench()
        bench.exchange.always(ResourceBench.metadataURL, .json(Self.mark + ResourceBench.document()))
        bench.exchange.always(ResourceBench.issuerURL, .json(Self.mark + ResourceBench.metadata()))
        #expect(await bench.logIn().outcome.granted != nil)
    }

    /// Invalid byte order marks: twice, after a space, or of another encoding.
    @Test(arguments: ["\u{FEFF}\u{FEFF}", " \u{FEFF}", "\u{FFFE}", "\u{2060}"])
    func `what is no byte order mark is no metadata`(beginning: String) async throws {
        let bench = try bench(beginning + TestIssuer.metadata())
        await #expect(throws: RefreshFailure.self) { try await bench.server.discovery.metadata() }
    }

    /// Case optional-endpoint-unusable.
    @Test func `endpoints that cannot be used are as if absent, and that is told where a person looks`()
        async throws
    {
        let bench = try bench(
            TestIssuer.metadata([
                "revocation_endpoint": "", "end_session_endpoint": "/logout",
                "device_authorization_endpoint": "http://id.example/device",
            ])
        )
        #expect(try await logIn(bench).granted != nil)
        let metadata = try await bench.server.discovery.metadata()
        #expect(
            metadata.revocation == nil && metadata.endSession == nil && metadata.deviceAuthorization == nil
        )
        let examination = ServerProbe(profile: TestIssuer.profile(), tools: bench.server.tools)
        let found = try await examination.run().get()
        for name in ["revocation_endpoint", "end_session_endpoint", "device_authorization_endpoint"] {
            #expect(IssuerCapabilities(metadata).remarks.contains { $0.contains("ignored \(name): it ") })
            #expect(found.words.contains("ignored \(name): it "), "\(found)")
        }
    }

    /// Members that are not endpoints at all, or `nil` if none is named.
    @Test(
        arguments: [
            (.number("null"), false), (.bool(true), true), (7, true), ([], true),
            (["https://id.example/"], true),
            ([:], true), (" ", true), ("https://", true), ("https://id.example/\u{202E}", true),
            ("https://id.example /revoke", true), (.string("https://id.example/" + longPath), true),
            ("HTTPS://id.example/revoke", nil),
        ] as [(JSONValue, Bool?)]
    )
    func `an optional endpoint of any kind costs no login`(value: JSONValue, isTold: Bool?) async throws {
        let bench = try bench(TestIssuer.metadata(["revocation_endpoint": value]))
        #expect(try await logIn(bench).granted != nil)
        let metadata = try await bench.server.discovery.metadata()
        #expect((metadata.revocation != nil) == (isTold == nil))
        #expect(metadata.remarks.isEmpty == (isTold != true), "\(metadata.remarks)")
        #expect(metadata.remarks.allSatisfy { $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } })
    }

    private static let longPath = String(repeating: "a", count: 9_000)

    /// Other members of a wrong kind.
    @Test(
        arguments: [
            ["mtls_endpoint_aliases": "https://id.example/"],
            ["mtls_endpoint_aliases": ["token_endpoint": 7]],
            ["mtls_endpoint_aliases": []], ["scopes_supported": "openid"], ["scopes_supported": [1, 2]],
            ["grant_types_supported": [:]], ["id_token_signing_alg_values_supported": .number("null")],
            ["code_challenge_methods_supported": "S256"], ["token_endpoint_auth_methods_supported": [7]],
            ["require_pushed_authorization_requests": "no"], ["\u{0}": 1], ["": [:]],
        ] as [[String: JSONValue]]
    )
    func `a member of a wrong kind costs no login`(changes: [String: JSONValue]) async throws {
        let outcome = try await logIn(try bench(TestIssuer.metadata(changes)))
        #expect(outcome.granted?.subject == "alice", "\(outcome)")
    }

    /// Lists with nothing in them, which a server must leave out (OpenID Connect Discovery 1.0 §3, RFC 8414 §3.2).
    @Test(arguments: [
        "id_token_signing_alg_values_supported", "response_types_supported",
        "grant_types_supported", "scopes_supported",
        "token_endpoint_auth_methods_supported", "token_endpoint_auth_signing_alg_values_supported",
        "dpop_signing_alg_values_supported", "protected_resources",
    ])
    func `an empty list says nothing`(name: String) async throws {
        let absent = try await bench(TestIssuer.metadata([name: .null])).server.discovery.metadata()
        let bench = try bench(TestIssuer.metadata([name: []]))
        #expect(try await bench.server.discovery.metadata() == absent)
        #expect(try await logIn(bench).granted?.subject == "alice")
    }

    // MARK: Searches

    /// Responses of the first and the second place, and what follows from them.
    @Test(
        arguments: [
            (.json("<html>login</html>", status: 403), .json("", status: 503), .busy),
            (.json("{}"), .failure(.unreachable("x")), .unreachable),
            (.json("", status: 301), .failure(.insecure("x")), .insecure),
            (.json("[]"), .json("", status: 429), .busy), (.json(""), .json("null"), .misconfigured),
            (.json("", status: 204), .json("", status: 410), .busy),
            (.json("", status: 404), .json("", status: 500), .busy),
        ] as [(ScriptedExchange.Answer, ScriptedExchange.Answer, FailureClass)]
    )
    func `a server in trouble behind nonsense is in trouble`(
        first: ScriptedExchange.Answer,
        second: ScriptedExchange.Answer,
        kind: FailureClass
    ) async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(TestIssuer.discoveryURL, first)
        bench.exchange.expect(TestIssuer.oauthURL, second)
        let failure = await #expect(throws: RefreshFailure.self) {
            try await bench.server.discovery.metadata()
        }
        #expect(failure?.kind == kind, "\(String(describing: failure))")
    }

    @Test func `the time that a limited server names is kept`() async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(TestIssuer.discoveryURL, status: 429, "", headers: ["retry-after": "90"])
        let failure = await #expect(throws: RefreshFailure.self) {
            try await bench.server.discovery.metadata()
        }
        #expect(failure?.retryAfter == .seconds(90) && bench.exchange.sent.count == 1)
    }

    /// Unusable keys that are published next to the one that signed.
    @Test(
        arguments: [
            .number("null"), "text", ["kty": "RSA"], ["kty": "RSA", "kid": "rsa", "n": "", "e": "AQAB"],
            ["kty": "RSA", "kid": "rsa", "n": "!!", "e": "AQAB"], ["kty": "oct", "kid": "rsa", "k": "AAAA"],
            ["kty": "OKP", "kid": "rsa", "crv": "X25519", "x": "AAAA"], ["kty": 7, "kid": ["rsa"]],
            ["kty": "EC", "kid": "rsa", "crv": "P-256", "x": "AA", "y": "AA"],
            ["kty": "RSA", "kid": "rsa", "n": "AQAB", "e": "AQAB", "use": "enc"],
            ["kty": "RSA", "kid": "rsa", "n": "AQAB", "e": "AQAB", "alg": "RSA-OAEP"],
        ] as [JSONValue]
    )
    func `a key that is of no use hides no other`(key: JSONValue) async throws {
        let good = TestIssuer.rsaKey(["use": .number("null"), "alg": .number("null"), "x5c": ["AAAA"]])
        for keys in [[key, good], [good, key], Array(repeating: key, count: 100) + [good]] {
            let outcome = try await logIn(
                try bench(TestIssuer.metadata()),
                keySet: TestIssuer.keySet(keys)
            )
            #expect(outcome.granted?.subject == "alice", "\(outcome)")
        }
    }
}
