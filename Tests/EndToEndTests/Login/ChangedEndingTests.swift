// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Sessions whose settings name another server for the end of their tokens than at the login.
    @Suite struct ChangedEndingTests {
        /// A kind of session, the key that says where its tokens are ended, and its own lines.
        struct Kind: Sendable, CustomTestStringConvertible {
            var name: String
            var key: String
            var lines: @Sendable (DemoIssuer) -> String

            var testDescription: String { name }
        }

        private static let path = "/end"

        static let kinds = [
            Kind(name: "oidc", key: "revocation_endpoint") { issuer in
                """
                kind = "oidc"
                issuer = "\(issuer.issuer)"
                client_id = "demo-public"
                scopes = ["openid", "offline_access"]
                flow = "password"
                """
            },
            Kind(name: "oauth2", key: "revocation_endpoint") { issuer in
                """
                kind = "oauth2"
                token_endpoint = "\(issuer.issuer)/token"
                client_id = "demo-public"
                scopes = ["offline_access"]
                flow = "password"
                """
            },
            Kind(name: "oauth2, end of session", key: "end_session_endpoint") { issuer in
                """
                kind = "oauth2"
                token_endpoint = "\(issuer.issuer)/token"
                revocation_endpoint = "\(issuer.issuer)/revoke"
                client_id = "demo-public"
                scopes = ["openid", "offline_access"]
                flow = "password"
                """
            },
            Kind(name: "json", key: "logout_url") { issuer in
                let backEnd = MobileBackEnd(.signaling)
                return """
                    kind = "json"
                    preset = "signaling"
                    login_url = "\(issuer.issuer)\(backEnd.loginPath)"
                    refresh_url = "\(issuer.issuer)\(backEnd.refreshPath)"
                    """
            },
        ]

        /// A session `work` of `kind` that was logged in to while its tokens were to be ended at `first`.
        private func loggedIn(
            _ kind: Kind
        ) async throws -> (agent: AgentUnderTest, first: DemoIssuer, second: DemoIssuer) {
            let first = try await DemoIssuer.start(DemoIssuer.Options())
            let second = try await DemoIssuer.start(DemoIssuer.Options())
            if kind.name == "json" { for route in MobileBackEnd(.signaling).routes { first.add(route) } }
            let agent = try AgentUnderTest()
            try agent.configure(table(kind, first, endedAt: first))
            try await agent.start()
            let arguments = ["login", "work", "--username", "alice", "--password-stdin"]
            let result = try await agent.tokenctl(arguments, input: "alice-password\n")
            try #require(result.status == 0, "\(result.standardError) \(agent.log)")
            return (agent, first, second)
        }

        private func table(_ kind: Kind, _ issuer: DemoIssuer, endedAt other: DemoIssuer) -> String {
            """
            [session.work]
            \(kind.lines(issuer))
            \(kind.key) = "\(other.issuer)\(Self.path)"

            """
        }

        private func isTold(_ issuer: DemoIssuer) -> Bool { !issuer.requests(to: Self.path).isEmpty }

        @Test(.holds("O49"), arguments: kinds)
        func `a server that has come into the settings since the login gets no token`(
            kind: Kind
        ) async throws {
            let (agent, first, second) = try await loggedIn(kind)
            try agent.configure(table(kind, first, endedAt: second))
            #expect(try await agent.tokenctl("reload").status == 0)
            let result = try await agent.tokenctl("logout", "work", "--json")
            #expect(result.standardOutput.contains("another server"), "\(result)")
            #expect(try await agent.reaches("logged_out", "work"))
            #expect(!isTold(second))
        }

        @Test(.holds("O49"), arguments: kinds)
        func `a revocation that is repeated goes to no server that has come into the settings`(
            kind: Kind
        ) async throws {
            let (agent, first, second) = try await loggedIn(kind)
            await first.stopListening()
            #expect(try await agent.tokenctl("logout", "work").status == 5)
            try agent.configure(table(kind, first, endedAt: second))
            #expect(try await agent.tokenctl("reload").status == 0)
            try await agent.kill()
            try await agent.start()
            // The repetition at the start has been decided when nothing of the login is left.
            let isOver = try await Polling.until {
                try await agent.status("work")["message"]?.string?.contains("another server") == true
            }
            #expect(isOver, "\(agent.log)")
            #expect(!isTold(second))
        }

        @Test(.holds("O49"), arguments: kinds)
        func `where the settings are as at the login, the server is told`(kind: Kind) async throws {
            let (agent, first, _) = try await loggedIn(kind)
            first.add(
                Route("POST", Self.path) { _ in IssuerResponse(status: 200) }
            )
            #expect(try await agent.tokenctl("logout", "work").status == 0)
            #expect(isTold(first))
        }
    }
}
