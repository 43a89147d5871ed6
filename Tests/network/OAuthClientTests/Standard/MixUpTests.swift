// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Answers of another issuer at a server whose endpoints are written by hand (RFC 9207 §2.4).
struct MixUpTests {
    @Test(
        .holds("O7"),
        arguments: [
            (nil, nil, true), (nil, "https://evil.example", true), ("https://tokens.example", nil, true),
            ("https://tokens.example", "https://tokens.example", true),
            ("https://tokens.example", "https://tokens.example/", false),
            ("https://tokens.example", "https://evil.example", false),
        ] as [(String?, String?, Bool)]
    )
    func `an answer that names another issuer than the configuration ends the login`(
        configured: String?,
        named: String?,
        goesOn: Bool
    ) async throws {
        var endpoints = FixedEndpoints(token: "https://tokens.example/token")
        endpoints.authorization = "https://tokens.example/authorize"
        endpoints.issuer = configured
        let bench = try Bench(
            ServerProfile(kind: .oauth2(endpoints), client: ClientIdentity("cli")),
            sleep: BrowserLoginTests.forEver
        )
        bench.exchange.always("https://tokens.example/token", .json(#"{"access_token":"at"}"#))
        let iss = named.map { "&iss=" + FormEncoding.encoded($0) } ?? ""
        let person = ScriptedPerson(
            memory: bench.memory,
            whenTold: { step in
                guard let address = OpenedAddress(step) else { return }
                Task { try await address.redirect("code=c&state=\(address.state)\(iss)") }
            }
        )
        let outcome = await bench.server.logIn(LoginRequest(), conversation: person)
        #expect((outcome.granted != nil) == goesOn, "\(outcome)")
        #expect(outcome.failure?.code == (goesOn ? nil : "issuer_mismatch"))
        #expect(bench.exchange.sent.count == (goesOn ? 1 : 0))
    }
}
