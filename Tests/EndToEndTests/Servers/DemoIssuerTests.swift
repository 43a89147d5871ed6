// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// The issuer must be right before it can judge the agent; `curl` is the witness.
@Suite(.takingTurns, .timeLimit(.minutes(10)))
struct DemoIssuerTests {
    private func post(_ issuer: DemoIssuer, _ path: String, _ form: String) async throws -> JSONObject {
        let result = try await Program.run(
            ["curl", "-s", "--max-time", "10", "-d", form, issuer.issuer + path],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        )
        return (try? JSONValue(parsing: result.standardOutput.utf8))?.object ?? JSONObject()
    }

    private func refresh(
        _ issuer: DemoIssuer,
        _ token: String,
        _ more: String = ""
    ) async throws -> JSONObject {
        let form = "grant_type=refresh_token&client_id=demo-public&refresh_token=\(token)\(more)"
        return try await post(issuer, "/token", form)
    }

    private func issuer(_ rotation: IssuerSettings.Rotation) async throws -> (DemoIssuer, String) {
        var options = DemoIssuer.Options()
        options.settings.rotation = rotation
        let issuer = try await DemoIssuer.start(options)
        let token = issuer.grantRefreshToken(client: "demo-public", user: "alice", scope: ["openid", "api"])
        return (issuer, token)
    }

    @Test func `without rotation a refresh token works again and again`() async throws {
        let (issuer, token) = try await issuer(.none)
        for _ in 0..<3 {
            let answer = try await refresh(issuer, token)
            #expect(answer["access_token"] != nil)
            #expect(answer["refresh_token"] == nil)
        }
    }

    @Test func `strict rotation ends the family when a used token is shown`() async throws {
        let (issuer, first) = try await issuer(.strict)
        let second = try #require(try await refresh(issuer, first)["refresh_token"]?.string)
        #expect(issuer.isAlive(second))
        #expect(try await refresh(issuer, first)["error"] == "invalid_grant")
        #expect(!issuer.isAlive(second))
        #expect(try await refresh(issuer, second)["error"] == "invalid_grant")
    }

    @Test func `a grace window forgives a repetition`() async throws {
        let (issuer, first) = try await issuer(.grace(.seconds(30)))
        let second = try #require(try await refresh(issuer, first)["refresh_token"]?.string)
        let third = try #require(try await refresh(issuer, first)["refresh_token"]?.string)
        #expect(second != third)
        #expect(issuer.isAlive(second) && issuer.isAlive(third))
    }

    @Test func `a refresh cannot widen the scope`() async throws {
        let (issuer, token) = try await issuer(.none)
        #expect(try await refresh(issuer, token, "&scope=api")["scope"] == "api")
        #expect(try await refresh(issuer, token, "&scope=write")["error"] == "invalid_scope")
    }

    @Test func `another client cannot use the token`() async throws {
        let (issuer, token) = try await issuer(.none)
        let answer = try await post(
            issuer,
            "/token",
            "grant_type=refresh_token&client_id=demo-other&refresh_token=\(token)"
        )
        #expect(answer["error"] == "invalid_grant")
        #expect(issuer.isAlive(token))
    }

    @Test func `a confidential client must show its secret`() async throws {
        let issuer = try await DemoIssuer.start()
        let form = "grant_type=client_credentials&client_id=demo-confidential&scope=api"
        #expect(try await post(issuer, "/token", form)["error"] == "invalid_client")
        let answer = try await post(issuer, "/token", form + "&client_secret=demo-secret-7f3a")
        #expect(answer["access_token"] != nil)
        #expect(answer["refresh_token"] == nil)
    }

    @Test(.holds("97")) func `a code needs its verifier, its address, and works once`() async throws {
        let issuer = try await DemoIssuer.start()
        // The challenge of RFC 7636, appendix B.
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let redirect = "http://127.0.0.1:9/callback"
        let address =
            "\(issuer.issuer)/authorize?response_type=code&client_id=demo-public&redirect_uri=\(redirect)"
            + "&state=s&code_challenge=\(challenge)&code_challenge_method=S256"
        let result = try await Program.run(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{redirect_url}", address],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        )
        let query = FormFields(parsing: try #require(result.standardOutput.split(separator: "?").last).utf8)
        #expect(query["state"] == "s")
        #expect(query["iss"] == issuer.issuer)
        let code = try #require(query["code"])
        let form = "grant_type=authorization_code&client_id=demo-public&redirect_uri=\(redirect)&code=\(code)"
        #expect(try await post(issuer, "/token", form + "&code_verifier=wrong")["error"] == "invalid_grant")
        let answer = try await post(issuer, "/token", form + "&code_verifier=\(verifier)")
        let refreshToken = try #require(answer["refresh_token"]?.string)
        #expect(issuer.isAlive(refreshToken))
        #expect(
            try await post(issuer, "/token", form + "&code_verifier=\(verifier)")["error"] == "invalid_grant"
        )
        #expect(!issuer.isAlive(refreshToken))
    }

    @Test(arguments: ["ES256", "RS256"])
    func `the program announces itself and ends with its standard input`(algorithm: String) async throws {
        // An empty standard input has ended already: the issuer says who it is and goes.
        let result = try await Program.run(
            [BuiltPrograms.issuer, "--algorithm", algorithm],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        #expect(result.status == 0, "\(result.standardError)")
        let announcement = try #require(try JSONValue(parsing: result.line.utf8).object)
        #expect(announcement["issuer"]?.string?.hasPrefix("http://127.0.0.1:") == true)
        #expect(announcement["clients"]?.array?.count == 3)
    }
}
