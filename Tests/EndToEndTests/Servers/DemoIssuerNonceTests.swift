// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// Nonces in proofs of possession (RFC 9449 §8, §9), and how the issuer is told to want them.
@Suite(.takingTurns, .timeLimit(.minutes(10)))
struct DemoIssuerNonceTests {
    @Test func `only a proof with the newest nonce is taken`() async throws {
        let client = try await ProvingClient.start { $0.demandsDPoPNonce = true }
        let refused = try await client.logIn(client.proof())
        #expect(refused.status == 400)
        #expect(refused.error == "use_dpop_nonce")
        let first = try #require(refused.nonce)
        let accepted = try await client.logIn(client.proof(["nonce": .string(first)]))
        #expect(accepted.tokenType == "DPoP")
        let second = try #require(accepted.nonce)
        #expect(second != first)
        let stale = try await client.logIn(client.proof(["nonce": .string(first)]))
        #expect(stale.error == "use_dpop_nonce")
        let third = try #require(stale.nonce)
        #expect(third == client.issuer.newestDPoPNonce)
        #expect(try await client.logIn(client.proof(["nonce": .string(third)])).status == 200)
        #expect(client.issuer.distinctProofs == 4)
    }

    @Test func `an answer to a nonce is a new proof`() async throws {
        let client = try await ProvingClient.start { $0.demandsDPoPNonce = true }
        let nonce = try #require(try await client.logIn(client.proof(["jti": "one"])).nonce)
        let answer = try await client.logIn(client.proof(["jti": "one", "nonce": .string(nonce)]))
        #expect(answer.error == "invalid_dpop_proof")
        #expect(answer.nonce == nil)
    }

    @Test func `a refusal for its nonce leaves the refresh token as it was`() async throws {
        let client = try await ProvingClient.start()
        let token = try await client.provenLogin().refreshToken
        client.issuer.settings.demandsDPoPNonce = true
        let nonce = try #require(try await client.refresh(token, client.proof()).nonce)
        #expect(client.issuer.isAlive(token))
        #expect(try await client.refresh(token, client.proof(["nonce": .string(nonce)])).status == 200)
    }

    @Test func `without a proof there is no nonce`() async throws {
        let client = try await ProvingClient.start { $0.demandsDPoPNonce = true }
        let answer = try await client.logIn()
        #expect(answer.tokenType == "Bearer")
        #expect(answer.nonce == nil)
    }

    @Test func `a server can want another nonce every time`() async throws {
        let client = try await ProvingClient.start { $0.refusesEveryNonce = true }
        var nonces: [String] = []
        for _ in 0..<4 {
            let nonce = nonces.last.map(JSONValue.string) ?? .null
            let answer = try await client.logIn(client.proof(["nonce": nonce]))
            #expect(answer.error == "use_dpop_nonce")
            nonces.append(try #require(answer.nonce))
        }
        #expect(Set(nonces).count == 4)
    }

    @Test func `a resource has the token endpoint's nonce`() async throws {
        let client = try await ProvingClient.start()
        let token = try await client.provenLogin().accessToken
        client.issuer.settings.demandsDPoPNonce = true
        let refused = try await client.use(token, client.proof(with: token))
        #expect(refused.status == 401)
        #expect(refused.header("www-authenticate") == #"DPoP error="use_dpop_nonce""#)
        let nonce = try #require(refused.nonce)
        let changes: JSONObject = ["nonce": .string(nonce)]
        #expect(try await client.use(token, client.proof(with: token, changes: changes)).status == 200)
        #expect(client.issuer.newestDPoPNonce == nonce)
    }

    // MARK: Settings

    @Test func `a script turns proofs on and off`() async throws {
        let client = try await ProvingClient.start { $0.dpop = .off }
        func set(_ json: String) async throws -> String? {
            try await client.curl(["-d", json], "/_control/settings").error
        }
        #expect(try await set(#"{"dpop":"required","demands_dpop_nonce":true}"#) == nil)
        #expect(try await client.logIn().error == "invalid_dpop_proof")
        #expect(try await client.logIn(client.proof()).error == "use_dpop_nonce")
        #expect(
            try await set(#"{"demands_dpop_nonce":false,"refuses_every_nonce":false,"ignores_proofs":true}"#)
                == nil
        )
        #expect(try await client.logIn(client.proof()).tokenType == "Bearer")
        #expect(try await set(#"{"dpop":"perhaps"}"#) == "bad_setting")
    }

    @Test func `the program takes its demands from options`() async throws {
        let environment = ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        let program = try Program(
            [BuiltPrograms.issuer, "--dpop", "required", "--dpop-nonce", "--ignore-standard-input"],
            environment: environment
        )
        let announcement = try await program.outputLine(containing: "issuer")
        let issuer = try #require(try JSONValue(parsing: announcement.utf8).object?["issuer"]?.string)
        let form = "grant_type=client_credentials&client_id=demo-confidential&client_secret=demo-secret-7f3a"
        let key = ProvingKey()
        let proof = try key.proof(
            header: key.header,
            claims: [
                "jti": "one", "htm": "POST", "htu": .string("\(issuer)/token"),
                "iat": .integer(ProvingClient.now),
            ]
        )
        for (arguments, error) in [([], "invalid_dpop_proof"), (["-H", "DPoP: \(proof)"], "use_dpop_nonce")] {
            let result = try await Program.run(
                ["curl", "-s", "--max-time", "20", "-d", form] + arguments + ["\(issuer)/token"],
                environment: environment
            )
            #expect(try JSONValue(parsing: result.standardOutput.utf8).object?["error"]?.string == error)
        }
        let refused = try await Program.run(
            [BuiltPrograms.issuer, "--dpop", "perhaps"],
            environment: environment
        )
        #expect(refused.status != 0)
        #expect(refused.standardError.contains("--dpop is off, allowed or required"))
    }
}
