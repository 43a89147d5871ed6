// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// Proofs of possession (RFC 9449) at the issuer's token endpoint.
@Suite(.takingTurns, .timeLimit(.minutes(10)))
struct DemoIssuerProofTests {
    @Test func `a thumbprint is that of the specification`() {
        // The key of RFC 9449 §4.1 and its thumbprint in §6.1.
        let key: JSONObject = [
            "kty": "EC", "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
            "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA", "crv": "P-256",
        ]
        #expect(ProvingKey.thumbprint(of: key) == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
    }

    @Test func `a proof binds both tokens to its key`() async throws {
        let client = try await ProvingClient.start()
        let answer = try await client.logIn(client.proof())
        #expect(answer.tokenType == "DPoP")
        #expect(client.issuer.keyThumbprint(of: answer.accessToken) == client.key.thumbprint)
        #expect(client.issuer.keyThumbprint(of: answer.refreshToken) == client.key.thumbprint)
        let inspection = try await client.post("token=\(answer.accessToken)", to: "/introspect")
        #expect(inspection.body["cnf"] == ["jkt": .string(client.key.thumbprint)])
        #expect(answer.nonce == nil)
    }

    @Test func `without a proof tokens are for any bearer`() async throws {
        let client = try await ProvingClient.start()
        let answer = try await client.logIn()
        #expect(answer.tokenType == "Bearer")
        #expect(client.issuer.keyThumbprint(of: answer.refreshToken) == nil)
        // And a refresh with a proof binds what it brings.
        let refreshed = try await client.refresh(answer.refreshToken, client.proof())
        #expect(refreshed.tokenType == "DPoP")
        #expect(client.issuer.keyThumbprint(of: refreshed.refreshToken) == client.key.thumbprint)
    }

    @Test func `without DPoP its header means nothing`() async throws {
        let client = try await ProvingClient.start { $0.dpop = .off }
        #expect(try await client.logIn("nonsense").tokenType == "Bearer")
        #expect(client.issuer.distinctProofs == 0)
        let metadata = try await client.curl([], "/.well-known/openid-configuration")
        #expect(metadata.body["dpop_signing_alg_values_supported"] == nil)
    }

    @Test func `required means that nobody gets tokens without a proof`() async throws {
        let client = try await ProvingClient.start { $0.dpop = .required }
        let answer = try await client.logIn()
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_dpop_proof")
        #expect(try await client.logIn(client.proof()).tokenType == "DPoP")
        let metadata = try await client.curl([], "/.well-known/openid-configuration")
        #expect(metadata.body["dpop_signing_alg_values_supported"] == ["ES256"])
    }

    @Test(arguments: [
        "grant_type=client_credentials&client_id=demo-confidential&client_secret=demo-secret-7f3a",
        "grant_type=password&client_id=demo-public&username=bob&password=bob-password",
        "grant_type=urn:ietf:params:oauth:grant-type:device_code&client_id=demo-public&device_code=",
    ])
    func `every grant takes a proof`(form: String) async throws {
        let client = try await ProvingClient.start {
            $0.dpop = .required
            $0.approvesDevices = true
        }
        let device = try await client.post("client_id=demo-public", to: "/device_authorization")
        let code = device.body["device_code"]?.string ?? ""
        let whole = form.hasSuffix("device_code=") ? form + code : form
        #expect(try await client.post(whole).error == "invalid_dpop_proof")
        let answer = try await client.post(whole, [client.proof()])
        #expect(answer.tokenType == "DPoP")
        #expect(client.issuer.keyThumbprint(of: answer.accessToken) == client.key.thumbprint)
    }

    @Test(arguments: ProofFault.all)
    func `a wrong proof buys nothing and costs nothing`(fault: ProofFault) async throws {
        let client = try await ProvingClient.start()
        let token = client.issuer.grantRefreshToken(client: "demo-public", user: "alice", scope: ["api"])
        let answer = try await client.refresh(token, fault.proof(client))
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_dpop_proof")
        #expect(answer.explanation.hasPrefix(fault.reason), "\(answer.explanation)")
        #expect(client.issuer.isAlive(token))
        #expect(client.issuer.distinctProofs == 0)
        #expect(try await client.refresh(token, client.proof()).tokenType == "DPoP")
    }

    @Test(arguments: [-20, 20] as [Int64])
    func `a clock a little off is forgiven`(offset: Int64) async throws {
        let client = try await ProvingClient.start()
        let proof = try client.proof(["iat": .integer(ProvingClient.now + offset)])
        #expect(try await client.logIn(proof).tokenType == "DPoP")
    }

    @Test func `two proofs are one too many`() async throws {
        let client = try await ProvingClient.start()
        let answer = try await client.logIn(client.proof(), client.proof())
        #expect(answer.error == "invalid_dpop_proof")
        #expect(answer.explanation == "there is more than one DPoP header")
        #expect(client.issuer.distinctProofs == 0)
    }

    @Test func `a proof works once`() async throws {
        let client = try await ProvingClient.start()
        let proof = try client.proof()
        #expect(try await client.logIn(proof).status == 200)
        #expect(try await client.logIn(proof).explanation == "jti was seen before")
        #expect(client.issuer.distinctProofs == 1)
    }

    @Test func `a bound refresh token needs its key`() async throws {
        let client = try await ProvingClient.start()
        let token = try await client.provenLogin().refreshToken
        let thief = ProvingClient(issuer: client.issuer)
        for answer in [try await client.refresh(token), try await thief.refresh(token, thief.proof())] {
            #expect(answer.status == 400)
            #expect(answer.error == "invalid_grant")
        }
        #expect(client.issuer.isAlive(token))
        let next = try await client.refresh(token, client.proof())
        #expect(next.tokenType == "DPoP")
        // Not even a spent token in wrong hands ends the login.
        #expect(try await client.refresh(token).error == "invalid_grant")
        #expect(client.issuer.isAlive(next.refreshToken))
        #expect(client.issuer.keyThumbprint(of: next.refreshToken) == client.key.thumbprint)
    }

    @Test func `a code asked for with a key needs that key`() async throws {
        let client = try await ProvingClient.start()
        let thief = ProvingClient(issuer: client.issuer)
        let form = try await codeExchange(client, "&dpop_jkt=\(client.key.thumbprint)")
        #expect(try await client.post(form).error == "invalid_grant")
        #expect(try await client.post(form, [thief.proof()]).error == "invalid_grant")
        let answer = try await client.post(form, [client.proof()])
        #expect(client.issuer.keyThumbprint(of: answer.accessToken) == client.key.thumbprint)
    }

    @Test func `a code asked for without a key takes any`() async throws {
        let client = try await ProvingClient.start()
        #expect(try await client.post(codeExchange(client), [client.proof()]).tokenType == "DPoP")
        #expect(try await client.post(codeExchange(client)).tokenType == "Bearer")
    }

    /// The form that exchanges a fresh code.
    private func codeExchange(_ client: ProvingClient, _ more: String = "") async throws -> String {
        // Verifier and challenge of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let redirect = "redirect_uri=http://127.0.0.1:9/callback&client_id=demo-public"
        let challenge =
            "code_challenge_method=S256&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let answer = try await client.curl(
            [],
            "/authorize?response_type=code&\(redirect)&\(challenge)\(more)"
        )
        let query = try #require(answer.header("location")?.split(separator: "?").last)
        let code = try #require(FormFields(parsing: query.utf8)["code"])
        return "grant_type=authorization_code&\(redirect)&code=\(code)&code_verifier=\(verifier)"
    }

    @Test func `a server that ignores proofs says Bearer and means it`() async throws {
        let client = try await ProvingClient.start { $0.ignoresProofs = true }
        let answer = try await client.logIn(client.proof())
        #expect(answer.tokenType == "Bearer")
        #expect(client.issuer.distinctProofs == 1)
        #expect(try await client.use(answer.accessToken, as: "Bearer").status == 200)
    }
}
