// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Configuration errors, which are reported in one line each, with a remedy, before a token is requested.
    @Suite(.full) struct BadInputTests {
        /// Keys that no server here takes.
        private static let keys = [
            "p384.pem": """
            -----BEGIN EC PRIVATE KEY-----
            MIGkAgEBBDDT4SsMgMa+5XR1ujLnZCW/MUCiSvgiJGZPBXwUPayK8ux1CMn/Rwjo
            ZFXxUNYqHrWgBwYFK4EEACKhZANiAAT9ROwm+d6XZ4gkbbG+EdKc/P1dey/SyJPZ
            Mcl2zSyfazYGvzcbT55IEpA85D7JTLiNcTuMn4Is6jOWPh5eBBYkAXZWne7CTMQk
            dCi/3s4LZeK2hGSpvblctM/oQbZXLb0=
            -----END EC PRIVATE KEY-----

            """,
            "encrypted.pem": """
            -----BEGIN EC PRIVATE KEY-----
            Proc-Type: 4,ENCRYPTED
            DEK-Info: AES-128-CBC,7B4977D7D3168988633A8F303FA337D4

            WL6isnN+BwJihb8j3qXsEpOntPW5zJuXViRF8KmoXJJV/R+ULHrYGlCkoEdMKhK5
            -----END EC PRIVATE KEY-----

            """,
        ]

        private func writeFiles(of agent: AgentUnderTest) throws {
            let authority = try CertificateAuthority()
            let expired = try authority.issue(validity: .seconds(-9 * 86_400)...(.seconds(-60 * 3_600)))
            var files = Self.keys
            files["p256.pem"] = try SigningKey(.es256).privateKeyPEM
            files["expired.pem"] = expired.certificatePEM
            files["expired-key.pem"] = expired.privateKeyPEM
            files["good.pem"] = try authority.issue().certificatePEM
            for (name, text) in files { try agent.home.write(text, to: "config/tokenagent/\(name)") }
            try agent.home.write("assertion\n", to: "config/tokenagent/open", mode: 0o666)
            try agent.home.makeDirectory("config/tokenagent/directory")
        }

        @Test(.holds("212"), arguments: BadInput.all)
        func `bad input is told in its line, with what helps`(bad: BadInput) async throws {
            let issuer = try await DemoIssuer.start()
            for (member, value) in bad.metadata { issuer.settings.metadata[member] = value }
            let agent = try AgentUnderTest()
            try writeFiles(of: agent)
            func filled(_ text: String) -> String {
                text.replacing("ISSUER", with: issuer.issuer)
                    .replacing("HERE", with: agent.home.path("config/tokenagent"))
            }
            let work = """
                [session.work]
                issuer = "ISSUER"
                client_id = "demo-public"
                scopes = ["openid"]


                """
            try agent.configure(filled(work + bad.tables))
            if bad.command.first != "config" { try await agent.start() }
            let result = try await agent.tokenctl(bad.command.map(filled))
            #expect(result.status == bad.status, "\(result)")
            // The time until the next try depends on the time of the last one.
            let told = result.standardError.replacing(/\n  Retry: in [0-9ms]+/, with: "")
            #expect(told == bad.lines.map { filled($0) + "\n" }.joined())
            #expect(result.standardOutput.isEmpty, "\(result)")
            #expect(issuer.requests(to: "/token").isEmpty)
        }
    }
}
