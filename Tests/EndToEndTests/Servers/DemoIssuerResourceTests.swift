// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// Access tokens bound to a key at the issuer's protected resources (RFC 9449 §7).
@Suite(.takingTurns, .timeLimit(.minutes(10)))
struct DemoIssuerResourceTests {
    private static let invalidToken = #"DPoP error="invalid_token""#
    private static let invalidProof = #"DPoP error="invalid_dpop_proof""#

    @Test(arguments: ["jwt", "opaque"], ["/resource", "/userinfo"])
    func `a bound token comes with a proof`(format: String, path: String) async throws {
        let client = try await ProvingClient.start {
            $0.accessTokenFormat = .init(rawValue: format) ?? .jwt
        }
        let token = try await client.provenLogin().accessToken
        let proof = try client.proof(with: token, "GET", path)
        #expect(try await client.use(token, as: "dpop", at: path, proof).status == 200)
    }

    @Test func `a bound token is no bearer token`() async throws {
        let client = try await ProvingClient.start()
        let token = try await client.provenLogin().accessToken
        let answer = try await client.use(token, as: "Bearer", client.proof(with: token))
        #expect(answer.status == 401)
        #expect(answer.header("www-authenticate") == DemoIssuerResourceTests.invalidToken)
        #expect(client.issuer.distinctProofs == 1)
        // Not even when the server has forgotten what a proof is.
        client.issuer.settings.dpop = .off
        #expect(try await client.use(token, as: "Bearer").status == 401)
    }

    @Test func `a bearer token is no bound token`() async throws {
        let client = try await ProvingClient.start()
        let token = try await client.logIn().accessToken
        #expect(try await client.use(token, as: "Bearer").status == 200)
        let answer = try await client.use(token, client.proof(with: token))
        #expect(answer.status == 401)
        #expect(answer.header("www-authenticate") == DemoIssuerResourceTests.invalidToken)
    }

    @Test func `an unknown token is refused in the words of its scheme`() async throws {
        let client = try await ProvingClient.start()
        let bearer = try await client.use("invented", as: "Bearer")
        #expect(bearer.header("www-authenticate") == #"Bearer realm="demo", error="invalid_token""#)
        let bound = try await client.use("invented", client.proof(with: "invented"))
        #expect(bound.header("www-authenticate") == DemoIssuerResourceTests.invalidToken)
        let nothing = try await client.curl([], "/resource")
        #expect(nothing.status == 401)
        #expect(nothing.header("www-authenticate") == #"Bearer realm="demo""#)
    }

    @Test func `another key does not prove this one`() async throws {
        let client = try await ProvingClient.start()
        let token = try await client.provenLogin().accessToken
        let thief = ProvingClient(issuer: client.issuer)
        let answer = try await client.use(token, thief.proof(with: token))
        #expect(answer.status == 401)
        #expect(answer.header("www-authenticate") == DemoIssuerResourceTests.invalidToken)
    }

    @Test(
        arguments: [
            ("ath", .null), ("ath", "AAAA"), ("htm", "POST"), ("htu", "http://127.0.0.1/resource"),
            ("iat", 0),
        ] as [(String, JSONValue)]
    )
    func `a proof for something else is refused`(name: String, value: JSONValue) async throws {
        let client = try await ProvingClient.start()
        let token = try await client.provenLogin().accessToken
        let answer = try await client.use(token, client.proof(with: token, changes: [name: value]))
        #expect(answer.status == 401)
        #expect(answer.header("www-authenticate") == DemoIssuerResourceTests.invalidProof)
        #expect(answer.explanation.hasPrefix(name), "\(answer.explanation)")
        #expect(answer.nonce == nil)
    }

    @Test func `a proof for another token is refused`() async throws {
        let client = try await ProvingClient.start()
        let (first, second) = (try await client.provenLogin(), try await client.provenLogin())
        let answer = try await client.use(first.accessToken, client.proof(with: second.accessToken))
        #expect(answer.header("www-authenticate") == DemoIssuerResourceTests.invalidProof)
        #expect(answer.explanation.hasPrefix("ath"))
    }

    @Test func `a proof is needed, one of them, and once`() async throws {
        let client = try await ProvingClient.start()
        let token = try await client.provenLogin().accessToken
        let proof = try client.proof(with: token)
        let none = try await client.use(token)
        #expect(none.header("www-authenticate") == DemoIssuerResourceTests.invalidProof)
        #expect(none.explanation == "there is no DPoP header")
        let two = try await client.use(token, proof, client.proof(with: token))
        #expect(two.explanation == "there is more than one DPoP header")
        #expect(try await client.use(token, proof).status == 200)
        #expect(try await client.use(token, proof).explanation == "jti was seen before")
    }

    @Test func `the query is not part of what a proof is for`() async throws {
        let client = try await ProvingClient.start()
        let token = try await client.provenLogin().accessToken
        #expect(try await client.use(token, at: "/resource?a=b", client.proof(with: token)).status == 200)
    }
}
