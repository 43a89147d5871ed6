// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// The issuer must judge assertions rightly before it can judge the agent; `curl` is the witness.
@Suite(.takingTurns, .timeLimit(.minutes(10)))
struct DemoIssuerAssertionTests {
    private let key: SigningKey
    private let issuer: DemoIssuer

    init() async throws {
        key = try .shared()
        var options = DemoIssuer.Options()
        options.registry.signers = [
            TrustedSigner("robot", keys: [try key.webKey()]),
            TrustedSigner("idp", keys: [try key.webKey()], type: TrustedSigner.identityAssertion),
        ]
        issuer = try await DemoIssuer.start(options)
    }

    private func post(_ assertion: String, _ more: String = "") async throws -> JSONObject {
        let form = "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=\(assertion)\(more)"
        let result = try await Program.run(
            ["curl", "-s", "--max-time", "10", "-d", form, issuer.issuer + "/token"],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        )
        return (try? JSONValue(parsing: result.standardOutput.utf8))?.object ?? JSONObject()
    }

    /// A good assertion with `changes`; `null` removes a claim.
    private func assertion(_ changes: JSONObject = [:], by key: SigningKey? = nil) throws -> String {
        let now = WallClock.seconds
        var claims: JSONObject = [
            "iss": "robot", "sub": "alice", "aud": .string(issuer.issuer + "/token"),
            "iat": .integer(now), "exp": .integer(now + 60), "jti": .string(RandomText.token("jti")),
        ]
        for change in changes.members {
            claims[change.name] = change.value == .null ? nil : change.value
        }
        return try (key ?? self.key).sign(claims: claims)
    }

    @Test func `a good one is a token, with a client or without`() async throws {
        let answer = try await post(try assertion(), "&scope=api")
        #expect(answer["access_token"] != nil && answer["scope"] == "api", "\(answer)")
        #expect(answer["refresh_token"] == nil && answer["id_token"] == nil)
        #expect(try await post(try assertion(), "&client_id=demo-public")["access_token"] != nil)
        let issuers = try assertion(["aud": [.string(issuer.issuer), "https://else.example"]])
        #expect(try await post(issuers)["access_token"] != nil)
        let wrong = try await post(try assertion(), "&client_id=demo-confidential")
        #expect(wrong["error"] == "invalid_client")
    }

    @Test func `each is taken once`() async throws {
        let assertion = try assertion()
        #expect(try await post(assertion)["access_token"] != nil)
        #expect(try await post(assertion)["error"] == "invalid_grant")
    }

    @Test(
        arguments: [
            ["iss": "mallory"], ["iss": .null], ["iss": "idp"], ["sub": .null], ["aud": .null],
            ["aud": "https://else.example"], ["exp": .null], ["exp": 1], ["exp": 99_999_999_999],
            ["iat": 99_999_999_998], ["nbf": 99_999_999_998], ["jti": .null], ["client_id": "demo-other"],
        ] as [JSONObject]
    )
    func `one that is wrong is none`(changes: JSONObject) async throws {
        let answer = try await post(try assertion(changes), "&client_id=demo-public")
        #expect(answer["error"] == "invalid_grant", "\(changes) \(answer)")
    }

    @Test func `another key, an altered claim and no signature at all are none`() async throws {
        let other = try await post(try assertion(by: SigningKey(.rs256)))
        #expect(other["error"] == "invalid_grant")
        let good = try assertion().split(separator: ".")
        let claims = Base64.urlEncoded(Array(#"{"iss":"robot","sub":"bob"}"#.utf8))
        #expect(try await post("\(good[0]).\(claims).\(good[2])")["error"] == "invalid_grant")
        let header = Base64.urlEncoded(Array(#"{"alg":"none"}"#.utf8))
        #expect(try await post("\(header).\(good[1]).")["error"] == "invalid_grant")
        #expect(try await post("x")["error"] == "invalid_grant")
    }
}
