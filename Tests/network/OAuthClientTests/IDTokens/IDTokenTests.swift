// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Logins by password at an issuer whose answers carry the ID tokens of the table.
struct IDTokenTests {
    /// One ID token and the result of its validation.
    struct Vector: Sendable, CustomTestStringConvertible {
        var name: String
        var claims: [String: JSONValue] = [:]
        var header: [String: JSONValue] = [:]
        var algorithm = "RS256"
        var isPublicClient = true
        var metadata: [String: JSONValue] = [:]
        /// Replaces the finished token.
        var edit: (@Sendable (String) -> String)?
        var isBelieved = false

        var testDescription: String { name }
    }

    static let now = TestIssuer.now
    /// `at_hash` of the access token `at` under SHA-256.
    static let atHash = "sda5G2fCr6XjIpiNlGJjjQ"

    static let vectors: [Vector] = [
        Vector(name: "RS256", isBelieved: true), Vector(name: "PS256", algorithm: "PS256", isBelieved: true),
        Vector(name: "ES256", algorithm: "ES256", isBelieved: true),
        Vector(name: "EdDSA", algorithm: "EdDSA", isBelieved: true),
        Vector(name: "no kid, one fitting key", header: ["kid": .null], isBelieved: true),
        Vector(name: "HS256 with our secret", algorithm: "HS256", isPublicClient: false, isBelieved: true),
        // Signature (O38)
        Vector(name: "HS256, but we have no secret", algorithm: "HS256"),
        Vector(
            name: "HS256 with the public key as secret",
            header: ["alg": "HS256"],
            algorithm: TestIssuer.publicKeyAsSecret
        ),
        Vector(
            name: "HS256 with the public key as secret, of a client with a secret",
            header: ["alg": "HS256"],
            algorithm: TestIssuer.publicKeyAsSecret,
            isPublicClient: false
        ),
        Vector(
            name: "alg none",
            header: ["alg": "none"],
            edit: { $0.split(separator: ".").prefix(2).joined(separator: ".") + "." }
        ),
        Vector(name: "alg nOnE with a signature", header: ["alg": "nOnE"]),
        Vector(name: "alg missing", header: ["alg": .null]),
        Vector(name: "alg a number", header: ["alg": 256]),
        Vector(name: "alg says ES256, key is RSA", header: ["alg": "ES256"]),
        Vector(name: "alg says PS256, padding is not", header: ["alg": "PS256"]),
        Vector(name: "RS512 is not listed", algorithm: "RS512"),
        Vector(
            name: "what the published key fits, when nothing is listed",
            algorithm: "ES256",
            metadata: ["id_token_signing_alg_values_supported": .null],
            isBelieved: true
        ),
        Vector(
            name: "HS256 when nothing is listed",
            algorithm: "HS256",
            isPublicClient: false,
            metadata: ["id_token_signing_alg_values_supported": .null]
        ),
        Vector(
            name: "none when nothing is listed",
            header: ["alg": "none"],
            metadata: ["id_token_signing_alg_values_supported": .null]
        ),
        Vector(
            name: "Ed25519, the name of RFC 9864",
            header: ["alg": "Ed25519"],
            algorithm: "EdDSA",
            metadata: ["id_token_signing_alg_values_supported": ["Ed25519"]],
            isBelieved: true
        ),
        Vector(name: "unknown kid", header: ["kid": "who"]),
        Vector(name: "kid of another key", header: ["kid": "ec"]),
        Vector(name: "kid with a path", header: ["kid": "../../../dev/null"]),
        Vector(name: "crit", header: ["crit": ["b64"], "b64": false]),
        Vector(name: "jku elsewhere", header: ["kid": "who", "jku": "https://evil.example/jwks"]),
        Vector(name: "x5u elsewhere", header: ["kid": "who", "x5u": "https://evil.example/x5u"]),
        Vector(name: "jwk in the header", header: ["kid": "who", "jwk": TestIssuer.rsaKey()]),
        Vector(name: "signature of other claims", edit: { $0.replacingClaims() }),
        Vector(name: "signature cut", edit: { String($0.dropLast(4)) }),
        Vector(
            name: "signature missing",
            edit: { $0.split(separator: ".").prefix(2).joined(separator: ".") }
        ),
        Vector(name: "padded base64", edit: { $0 + "=" }),
        Vector(name: "a blank at the end", edit: { $0 + "." }),
        Vector(name: "not a JWT", edit: { _ in "opaque" }),
        // iss, aud, azp (O35–O37)
        Vector(name: "iss of another tenant", claims: ["iss": "https://id.example/other"]),
        Vector(name: "iss with a slash", claims: ["iss": "https://id.example/tenant/"]),
        Vector(name: "iss in capitals", claims: ["iss": "https://ID.example/tenant"]),
        Vector(name: "iss missing", claims: ["iss": .null]),
        Vector(name: "aud of another client", claims: ["aud": "other"]),
        Vector(name: "aud missing", claims: ["aud": .null]),
        Vector(name: "aud a number", claims: ["aud": [1, "cli"]]),
        Vector(name: "aud list of us", claims: ["aud": ["cli"]], isBelieved: true),
        Vector(name: "aud with a stranger", claims: ["aud": ["cli", "stranger"]], isBelieved: true),
        Vector(
            name: "aud with the issuer, as errata set 2 allows",
            claims: ["aud": ["cli", .string(TestIssuer.url)]],
            isBelieved: true
        ),
        Vector(name: "aud of strangers", claims: ["aud": ["a", "b"]]),
        Vector(
            name: "aud with a stranger, azp the stranger",
            claims: ["aud": ["cli", "stranger"], "azp": "stranger"]
        ),
        Vector(
            name: "aud with a stranger, azp us",
            claims: ["aud": ["cli", "stranger"], "azp": "cli"],
            isBelieved: true
        ),
        Vector(name: "azp of another client", claims: ["azp": "other"]),
        Vector(name: "azp us", claims: ["azp": "cli"], isBelieved: true),
        Vector(name: "azp null", claims: ["azp": .number("null")], isBelieved: true),
        Vector(name: "azp empty", claims: ["azp": ""]),
        Vector(name: "azp a list of us", claims: ["azp": ["cli"]]),
        Vector(name: "aud empty", claims: ["aud": []]),
        Vector(name: "aud in capitals", claims: ["aud": "CLI"]),
        Vector(name: "aud of us twice", claims: ["aud": ["cli", "cli"]], isBelieved: true),
        Vector(name: "aud of us inside a list", claims: ["aud": [["cli"]]]),
        // Time (O39)
        Vector(name: "expired", claims: ["exp": .integer(now - 301)]),
        Vector(name: "expired within the skew", claims: ["exp": .integer(now - 299)], isBelieved: true),
        Vector(name: "exp missing", claims: ["exp": .null]),
        Vector(name: "exp a string", claims: ["exp": "1800000300"]),
        Vector(name: "exp absurd", claims: ["exp": .number("1e300")]),
        Vector(name: "iat missing", claims: ["iat": .null]),
        Vector(name: "iat in the future", claims: ["iat": .integer(now + 301)]),
        Vector(
            name: "iat in the future within the skew",
            claims: ["iat": .integer(now + 299)],
            isBelieved: true
        ),
        Vector(
            name: "fractions",
            claims: ["iat": .number("1799999999.5"), "exp": .number("1800000300.5")],
            isBelieved: true
        ),
        Vector(
            name: "times as Java writes a double",
            claims: ["iat": .number("1.8E9"), "exp": .number("1.8000003E9")],
            isBelieved: true
        ),
        Vector(name: "nbf in the future", claims: ["nbf": .integer(now + 301)]),
        Vector(name: "nbf null", claims: ["nbf": .number("null")], isBelieved: true),
        Vector(name: "nbf a string", claims: ["nbf": "0"]),
        // sub, at_hash (O45)
        Vector(name: "sub missing", claims: ["sub": .null]), Vector(name: "sub empty", claims: ["sub": ""]),
        Vector(name: "sub too long", claims: ["sub": .string(String(repeating: "s", count: 256))]),
        Vector(name: "at_hash right", claims: ["at_hash": .string(atHash)], isBelieved: true),
        Vector(name: "at_hash wrong", claims: ["at_hash": "AAAAAAAAAAAAAAAAAAAAAA"]),
    ]

    @Test(.holds("98", "O35", "O36", "O37", "O38", "O39", "O42", "O45"), arguments: vectors)
    func `an ID token is believed or the login fails`(vector: Vector) async throws {
        let issuer = try await TestIssuer()
        let commands = ScriptedCommands(prints: TestIssuer.clientSecret + "\n")
        let secret: SecretSource? = vector.isPublicClient ? nil : .command(["secret"])
        let bench = try Bench(TestIssuer.profile(secret: secret), commands: commands)
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata(vector.metadata)))
        bench.exchange.always(TestIssuer.keySetURL, .json(issuer.keySet))
        var token = try issuer.idToken(vector.claims, header: vector.header, signedAs: vector.algorithm)
        token = vector.edit?(token) ?? token
        bench.exchange.expect(
            TestIssuer.tokenEndpoint,
            #"{"access_token":"at","refresh_token":"rt","id_token":"\#(token)"}"#
        )
        let person = ScriptedPerson(memory: bench.memory) { _ in "alice" }
        let outcome = await bench.server.logIn(LoginRequest(flow: .password), conversation: person)
        if vector.isBelieved {
            #expect(try #require(outcome.granted, "\(outcome)").subject == "alice")
        } else {
            #expect(outcome.failure?.kind == .misbehaved)
        }
        let places = Set(bench.exchange.sent.map(\.url))
        #expect(
            places.isSubset(of: [TestIssuer.discoveryURL, TestIssuer.keySetURL, TestIssuer.tokenEndpoint])
        )
    }

    /// Key sets with which a token must be rejected that is valid with the usual one.
    @Test(
        .holds("98", "O38"),
        arguments: [
            "{}", #"{"keys":{}}"#, #"{"keys":[]}"#, #"{"keys":[1,"x",{}]}"#, "[]", "<html>",
            TestIssuer.keySet([TestIssuer.rsaKey(["use": "enc"])]),
            TestIssuer.keySet([TestIssuer.rsaKey(["alg": "RS512"])]),
            TestIssuer.keySet([TestIssuer.rsaKey(["key_ops": ["sign"]])]),
            TestIssuer.keySet([TestIssuer.rsaKey(["kty": "oct"])]),
            TestIssuer.keySet([TestIssuer.rsaKey(["n": "AQAB"])]),
        ]
    )
    func `a login fails with a key set that has no fitting key`(keySet: String) async throws {
        let outcome = try await logIn(keySet: keySet)
        #expect(outcome.granted == nil)
    }

    /// Numbers of keys as libraries write them that encode a signed number, pad, or break lines.
    @Test(.holds("O38"), arguments: ["leading zero", "padding", "other alphabet"])
    func `a key is read however its numbers are written`(way: String) async throws {
        let modulus = try #require(TestIssuer.rsaKey().object?["n"]?.string)
        let bytes = try #require(KeySet.bytes(of: modulus))
        let written =
            switch way {
            case "leading zero": Base64.urlEncoded([0] + bytes)
            case "padding": Base64.urlEncoded(bytes) + "=="
            default: Base64.encoded(bytes)
            }
        let keys = TestIssuer.keySet([TestIssuer.rsaKey(["n": .string(written), "e": "AAEAAQ"])])
        #expect(try await logIn(keySet: keys).granted?.subject == "alice")
    }

    /// The claims about the account, and what is shown of it (Apple, Cognito and others write booleans as text).
    @Test(
        .holds("O45"),
        arguments: [
            (["email": "a@b.example"], "a@b.example"),
            (["email": "a@b.example", "email_verified": true], "a@b.example"),
            (["email": "a@b.example", "email_verified": "true"], "a@b.example"),
            (["email": "a@b.example", "email_verified": false], nil),
            (["email": "a@b.example", "email_verified": "false"], nil),
            (["email": "a@b.example", "email_verified": "False"], nil),
            (["email": "a@b.example", "email_verified": 0], nil),
            (["email": "a@b.example", "email_verified": "false", "preferred_username": "al"], "al"),
        ] as [([String: JSONValue], String?)]
    )
    func `an address that the issuer has not verified is nobody's name`(
        claims: [String: JSONValue],
        account: String?
    ) {
        let user = IDTokenVerifier.VerifiedUser(
            TestIssuer.changed(["sub": "alice"], by: claims).object ?? JSONObject()
        )
        #expect(user.account == account && user.subject == "alice")
    }

    /// A hundred other keys of the kind before the one that signed; with a name it is found among any number.
    @Test(.holds("O38"), arguments: [(70, 64, true), (70, 64, false), (500, 499, true)])
    func `an issuer may publish many keys`(count: Int, signer: Int, isNamed: Bool) async throws {
        var keys = (0..<count).map { number in
            TestIssuer.rsaKey(["kid": .string("other\(number)"), "n": .string(Self.otherModulus)])
        }
        keys[signer] = TestIssuer.rsaKey()
        let header: [String: JSONValue] = isNamed ? [:] : ["kid": .null]
        #expect(try await logIn(keySet: TestIssuer.keySet(keys), header: header).granted != nil)
    }

    @Test func `a token without a name of a key has only so many of them tried`() async throws {
        var keys = Array(repeating: TestIssuer.rsaKey(["n": .string(Self.otherModulus)]), count: KeySet.limit)
        keys.append(TestIssuer.rsaKey())
        #expect(try await logIn(keySet: TestIssuer.keySet(keys), header: ["kid": .null]).granted == nil)
    }

    @Test(.holds("O38")) func `a key for Ed25519 signs what says EdDSA, and the other way round`()
        async throws
    {
        let issuer = try await TestIssuer()
        for (algorithm, ofKey) in [("EdDSA", "Ed25519"), ("Ed25519", "EdDSA"), ("Ed25519", "Ed25519")] {
            let document = try #require(try JSONValue(parsing: issuer.keySet.utf8).object?["keys"]?.array)
            let key = try #require(document.first { $0.object?["kid"] == "ed" }?.object)
            var members: [String: JSONValue] = ["alg": .string(ofKey)]
            for name in ["kty", "kid", "crv", "x"] { members[name] = key[name] }
            let token = try issuer.idToken(header: ["alg": .string(algorithm)], signedAs: "EdDSA")
            let outcome = try await logIn(
                keySet: TestIssuer.keySet([TestIssuer.changed([:], by: members)]),
                token: token
            )
            #expect(outcome.granted != nil, "\(algorithm) by a key for \(ofKey): \(outcome)")
        }
    }

    /// An ID token, and the message about it.
    @Test(
        .holds("O38"),
        arguments: [
            (
                ["iss": "https://evil.example"], [:],
                #"is from "https://evil.example" (iss), not from "https://id.example/tenant""#
            ),
            (["aud": ["a", "b\u{202E}"]], [:], #"its aud is "a b\u{202e}""#),
            (["azp": "other"], [:], "(azp)"),
            (["exp": .integer(now - 11_000)], [:], "expired 3h 3m ago (exp)"),
            (["exp": .null], [:], "no valid exp"),
            (["iat": .integer(now + 10_800)], [:], "issued 3h in the future (iat)"),
            (["sub": .null], [:], "(sub)"),
            ([:], ["alg": "ES256K"], #""ES256K" is not supported"#),
            ([:], ["alg": "none"], #""none" is not supported"#),
            ([:], ["alg": "RS384"], "metadata (ES256 EdDSA PS256 RS256)"),
            ([:], ["alg": "HS256"], "client secret"),
            ([:], ["kid": "who"], #"no key for the ID token's signature (RS256, key "who")"#),
            (["at_hash": "AAAA"], [:], "(at_hash)"), ([:], ["crit": ["b64"]], "(crit)"),
        ] as [([String: JSONValue], [String: JSONValue], String)]
    )
    func `each refusal names the algorithm, the key or the claim`(
        claims: [String: JSONValue],
        header: [String: JSONValue],
        words: String
    ) async throws {
        let issuer = try await TestIssuer()
        let outcome = try await logIn(
            keySet: issuer.keySet,
            token: try issuer.idToken(claims, header: header)
        )
        #expect(outcome.failure?.message.contains(words) == true, "\(outcome)")
    }

    @Test func `an encrypted ID token is called so`() async throws {
        let outcome = try await logIn(
            keySet: try await TestIssuer().keySet,
            token: "eyJhbGciOiJSU0EtT0FFUCJ9.a.b.c.d"
        )
        #expect(
            outcome.failure?.message.contains("is encrypted, which is not supported") == true,
            "\(outcome)"
        )
    }

    @Test(.holds("98", "O38")) func `of two keys with one identifier either may have signed`() async throws {
        let wrong = TestIssuer.rsaKey(["n": .string(Base64.urlEncoded([UInt8](repeating: 0xFF, count: 256)))])
        #expect(try await logIn(keySet: TestIssuer.keySet([wrong, TestIssuer.rsaKey()])).granted != nil)
    }

    @Test(.holds("98", "O38"))
    func `a key that is new is found at once, and asked for in vain once a minute at most`()
        async throws
    {
        let issuer = try await TestIssuer()
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        bench.exchange.always(TestIssuer.keySetURL, .json(TestIssuer.keySet([])))
        bench.exchange.always(
            TestIssuer.tokenEndpoint,
            .json(#"{"access_token":"at","id_token":"\#(try issuer.idToken(header: ["kid": "new"]))"}"#)
        )
        let person = ScriptedPerson(memory: bench.memory) { _ in "alice" }
        func fetches() -> Int { bench.exchange.sent.count { $0.url == TestIssuer.keySetURL } }
        for _ in 0..<20 { _ = await bench.server.logIn(LoginRequest(flow: .password), conversation: person) }
        #expect(fetches() == 1)
        bench.clock.advance(by: .seconds(61))
        for _ in 0..<20 { _ = await bench.server.logIn(LoginRequest(flow: .password), conversation: person) }
        #expect(fetches() == 2)
    }

    @Test(.holds("O38")) func `a key that was published a moment ago is found`() async throws {
        let issuer = try await TestIssuer()
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        let person = ScriptedPerson(memory: bench.memory) { _ in "alice" }
        for identifier in ["first", "second"] {
            let key = TestIssuer.rsaKey(["kid": .string(identifier)])
            bench.exchange.always(TestIssuer.keySetURL, .json(TestIssuer.keySet([key])))
            let token = try issuer.idToken(header: ["kid": .string(identifier)])
            bench.exchange.expect(TestIssuer.tokenEndpoint, #"{"access_token":"at","id_token":"\#(token)"}"#)
            let outcome = await bench.server.logIn(LoginRequest(flow: .password), conversation: person)
            #expect(outcome.granted != nil, "\(outcome)")
        }
    }

    /// The previous key set, and the header of a token that is signed with the current key.
    @Test(
        arguments: [
            // Another key under the same name.
            (["kid": "rsa", "n": .string(IDTokenTests.otherModulus)], [:]),
            // Tokens that name no key, or keys without a name.
            (["kid": "old", "n": .string(IDTokenTests.otherModulus)], ["kid": .null]),
            (["kid": .null, "n": .string(IDTokenTests.otherModulus)], [:]),
        ] as [([String: JSONValue], [String: JSONValue])]
    )
    func `a key that took another one's place is found at once`(
        before: [String: JSONValue],
        header: [String: JSONValue]
    ) async throws {
        let issuer = try await TestIssuer()
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        let old = TestIssuer.keySet([TestIssuer.rsaKey(before)])
        bench.exchange.always(TestIssuer.keySetURL, .json(old))
        let token = try issuer.idToken(header: header)
        bench.exchange.always(
            TestIssuer.tokenEndpoint,
            .json(#"{"access_token":"at","id_token":"\#(token)"}"#)
        )
        let person = ScriptedPerson(memory: bench.memory) { _ in "alice" }
        // The key set is known, and another key has signed.
        _ = await bench.server.logIn(LoginRequest(flow: .password), conversation: person)
        bench.clock.advance(by: .seconds(61))
        bench.exchange.always(TestIssuer.keySetURL, .json(issuer.keySet))
        let outcome = await bench.server.logIn(LoginRequest(flow: .password), conversation: person)
        #expect(outcome.granted?.subject == "alice", "\(outcome)")
    }

    @Test func `signatures by no known key ask for the keys once a minute at most`() async throws {
        let issuer = try await TestIssuer()
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        let other = TestIssuer.rsaKey(["n": .string(IDTokenTests.otherModulus)])
        bench.exchange.always(TestIssuer.keySetURL, .json(TestIssuer.keySet([other])))
        bench.exchange.always(
            TestIssuer.tokenEndpoint,
            .json(#"{"access_token":"at","id_token":"\#(try issuer.idToken())"}"#)
        )
        let person = ScriptedPerson(memory: bench.memory) { _ in "alice" }
        func fetches() -> Int { bench.exchange.sent.count { $0.url == TestIssuer.keySetURL } }
        for _ in 0..<20 { _ = await bench.server.logIn(LoginRequest(flow: .password), conversation: person) }
        #expect(fetches() == 1)
        bench.clock.advance(by: .seconds(61))
        for _ in 0..<20 { _ = await bench.server.logIn(LoginRequest(flow: .password), conversation: person) }
        #expect(fetches() == 2)
    }

    /// The modulus of a key whose private key the tests do not have.
    static let otherModulus = Base64.urlEncoded([UInt8](repeating: 0xFF, count: 256))

    private func logIn(
        keySet: String,
        header: [String: JSONValue] = [:],
        token: String? = nil
    ) async throws -> LoginOutcome {
        let issuer = try await TestIssuer()
        let token = try token ?? issuer.idToken(header: header)
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        bench.exchange.always(TestIssuer.keySetURL, .json(keySet))
        bench.exchange.expect(
            TestIssuer.tokenEndpoint,
            #"{"access_token":"at","id_token":"\#(token)"}"#
        )
        let person = ScriptedPerson(memory: bench.memory) { _ in "alice" }
        return await bench.server.logIn(LoginRequest(flow: .password), conversation: person)
    }
}

extension String {
    /// Returns the token with the claims of another user and the original signature.
    fileprivate func replacingClaims() -> String {
        let parts = split(separator: ".")
        let claims =
            #"{"iss":"https://id.example/tenant","aud":"cli","sub":"mallory","iat":1800000000,"exp":1800000300}"#
        return [String(parts[0]), Base64.urlEncoded(claims.utf8), String(parts[2])].joined(separator: ".")
    }
}
