// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// A provider file whose addresses change, as an upgrade of the package may do.
    @Suite struct MovedProviderTests {
        private static let file = "config/tokenagent/providers.d/acme.toml"

        private static func provider(at issuer: DemoIssuer, revokedAt other: DemoIssuer) -> String {
            """
            title = "Acme"
            [session]
            kind = "oauth2"
            token_endpoint = "\(issuer.issuer)/token"
            revocation_endpoint = "\(other.issuer)/revoke"
            scopes = ["offline_access"]

            """
        }

        /// A session that was logged in to at `first`.
        private static func loggedIn(_ first: DemoIssuer) async throws -> AgentUnderTest {
            let agent = try AgentUnderTest()
            try agent.home.makeDirectory("config/tokenagent/providers.d")
            try agent.home.write(provider(at: first, revokedAt: first), to: file)
            try agent.configure(
                "[session.work]\nprovider = \"acme\"\nclient_id = \"demo-public\"\nflow = \"password\"\n"
            )
            try await agent.start()
            try await agent.logIn()
            return agent
        }

        private static func isTold(_ issuer: DemoIssuer) -> Bool {
            !issuer.requests(to: "/token").isEmpty || !issuer.requests(to: "/revoke").isEmpty
        }

        @Test func `tokens do not go to the new host of a provider, and the reason is told`() async throws {
            let first = try await DemoIssuer.start(DemoIssuer.Options())
            let second = try await DemoIssuer.start(DemoIssuer.Options())
            let agent = try await Self.loggedIn(first)
            try agent.home.write(Self.provider(at: second, revokedAt: second), to: Self.file)
            #expect(try await agent.tokenctl("reload").status == 0)
            let get = try await agent.tokenctl("get", "work")
            #expect(get.status == 4 && get.standardError.contains("Run: tokenctl login work"), "\(get)")
            #expect(try await agent.tokenctl("refresh", "work").status == 4)
            #expect(try await agent.status("work")["reason"]?.string == "configuration_changed")
            _ = try await agent.tokenctl("logout", "work")
            #expect(!Self.isTold(second))
        }

        @Test func `a token is revoked at the host of the login only`() async throws {
            let first = try await DemoIssuer.start(DemoIssuer.Options())
            let second = try await DemoIssuer.start(DemoIssuer.Options())
            let agent = try await Self.loggedIn(first)
            try agent.home.write(Self.provider(at: first, revokedAt: second), to: Self.file)
            #expect(try await agent.tokenctl("reload").status == 0)
            #expect(try await agent.tokenctl("get", "work").status == 0)
            let logout = try await agent.tokenctl("logout", "work", "--json")
            #expect(logout.standardOutput.contains("another server"), "\(logout)")
            #expect(!Self.isTold(second))
        }
    }
}
