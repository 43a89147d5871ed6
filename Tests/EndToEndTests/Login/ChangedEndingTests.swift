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
            var path = "/end"
            /// The message about a login whose tokens are not sent.
            var refusal = "another server"
            /// Makes an issuer behave as a server of this kind.
            var prepare: @Sendable (DemoIssuer) throws -> Void = { _ in }
            var lines: @Sendable (DemoIssuer) -> String

            var testDescription: String { name }

            /// The table of the session `work` at `issuer`, whose tokens are ended at `other`.
            func table(_ issuer: DemoIssuer, endedAt other: DemoIssuer) -> String {
                """
                [session.work]
                \(lines(issuer))
                \(key) = "\(other.issuer)\(path)"

                """
            }

            func isTold(_ issuer: DemoIssuer) -> Bool { !issuer.requests(to: path).isEmpty }
        }

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
            Kind(
                name: "json",
                key: "logout_url",
                prepare: { issuer in for route in MobileBackEnd(.signaling).routes { issuer.add(route) } },
                lines: { issuer in
                    let backEnd = MobileBackEnd(.signaling)
                    return """
                        kind = "json"
                        preset = "signaling"
                        login_url = "\(issuer.issuer)\(backEnd.loginPath)"
                        refresh_url = "\(issuer.issuer)\(backEnd.refreshPath)"
                        """
                }
            ),
            Kind(
                name: "cognito",
                key: "endpoint",
                path: "/",
                refusal: "another issuer or client",
                prepare: { issuer in
                    let user = CognitoDouble.User(name: "alice", password: "alice-password")
                    issuer.add(
                        try CognitoDouble(clients: [CognitoDouble.Client(id: "cli")], users: [user]).route
                    )
                },
                lines: { _ in
                    """
                    kind = "cognito"
                    region = "\(CognitoDouble.region)"
                    user_pool_id = "\(CognitoDouble.poolID)"
                    client_id = "cli"
                    """
                }
            ),
        ]

        private static let isMissing: Comment = "set TOKENAGENT_IDP_DIR to the directory of the scripts"

        private struct Fixture {
            var kind: Kind
            /// The server of the login.
            var first: DemoIssuer
            /// The server that comes into the settings later.
            var second: DemoIssuer
            var agent: AgentUnderTest

            /// Makes `agent` end the tokens at the second server from now on.
            ///
            /// - Returns: what the session says of its login then.
            func change(keeping former: String = "") async throws -> String {
                try agent.configure(former + kind.table(first, endedAt: second))
                #expect(try await agent.tokenctl("reload").status == 0)
                return try await agent.status("work")["message"]?.string ?? ""
            }

            /// Restarts the agent after a logout that reached no server.
            ///
            /// - Returns: whether the repetition at the start is decided, and nothing of the login is left.
            func isOverAfterRestart() async throws -> Bool {
                try await agent.kill()
                try await agent.start()
                return try await Polling.until {
                    try await agent.status("work")["message"]?.string?.contains(kind.refusal) == true
                }
            }
        }

        /// A session `work` of `kind` that was logged in to while its tokens were to be ended at the first server.
        private func loggedIn(_ kind: Kind) async throws -> Fixture {
            let first = try await DemoIssuer.start(DemoIssuer.Options())
            let second = try await DemoIssuer.start(DemoIssuer.Options())
            try kind.prepare(first)
            let agent = try AgentUnderTest()
            try agent.configure(kind.table(first, endedAt: first))
            try await agent.start()
            try await agent.logIn()
            first.forgetRequests()
            return Fixture(kind: kind, first: first, second: second, agent: agent)
        }

        @Test(.holds("O49"), arguments: kinds)
        func `a server that has come into the settings since the login gets no token`(
            kind: Kind
        ) async throws {
            let scene = try await loggedIn(kind)
            let said = try await scene.change()
            let result = try await scene.agent.tokenctl("logout", "work", "--json")
            #expect((said + result.standardOutput).contains(kind.refusal), "\(said) \(result)")
            #expect(try await scene.agent.reaches("logged_out", "work"))
            #expect(!kind.isTold(scene.second))
        }

        @Test(.holds("O49"), arguments: kinds)
        func `a revocation that is repeated goes to no server that has come into the settings`(
            kind: Kind
        ) async throws {
            let scene = try await loggedIn(kind)
            await scene.first.stopListening()
            #expect(try await scene.agent.tokenctl("logout", "work").status == 5)
            _ = try await scene.change()
            #expect(try await scene.isOverAfterRestart(), "\(scene.agent.log)")
            #expect(!kind.isTold(scene.second))
        }

        @Test(.holds("O49"), arguments: kinds)
        func `where the settings are as at the login, the server is told`(kind: Kind) async throws {
            let scene = try await loggedIn(kind)
            scene.first.add(Route("POST", kind.path) { _ in IssuerResponse(status: 200) })
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            #expect(kind.isTold(scene.first))
        }

        // MARK: Fleets

        /// A login at one host of a fleet, seen at another one, with the settings of the login.
        private static func whileShared(
            _ kind: Kind,
            _ body: (Fixture, _ fleet: String) async throws -> Void
        ) async throws {
            let second = try await DemoIssuer.start(DemoIssuer.Options())
            try await FleetScene.whileRunning { scene in
                try kind.prepare(scene.issuer)
                let other = scene.keepers[1]
                var fleet = ""
                for host in scene.keepers {
                    let text = try #require(File.text(host.configurationPath))
                    fleet = String(text[..<(try #require(text.firstRange(of: "[session.work]"))).lowerBound])
                    let table = kind.table(scene.issuer, endedAt: scene.issuer)
                    try host.configure(fleet + table)
                    #expect(try await host.tokenctl("reload").status == 0)
                }
                try await scene.keepers[0].logIn()
                _ = try #require(try await scene.commonToken())
                scene.issuer.forgetRequests()
                let fixture = Fixture(kind: kind, first: scene.issuer, second: second, agent: other)
                try await body(fixture, fleet)
            }
        }

        /// The kinds, whose tables say that the hosts of a fleet share the session.
        static let sharedKinds = kinds.map { kind in
            var shared = kind
            shared.lines = { kind.lines($0) + "\nfleet = true" }
            return shared
        }

        @Test(
            .full,
            .holds("O49"),
            .enabled(if: FleetScene.etcd.isAvailable, isMissing),
            arguments: sharedKinds
        )
        func `a server that only this host of a fleet names gets no token of another host's login`(
            kind: Kind
        ) async throws {
            try await Self.whileShared(kind) { scene, fleet in
                let said = try await scene.change(keeping: fleet)
                let result = try await scene.agent.tokenctl("logout", "work", "--json")
                let isBound = kind.key == "endpoint"
                #expect(isBound || (said + result.standardOutput).contains(kind.refusal), "\(said) \(result)")
                #expect(!kind.isTold(scene.second))
            }
        }

        @Test(
            .full,
            .holds("O49"),
            .enabled(if: FleetScene.etcd.isAvailable, isMissing),
            arguments: sharedKinds
        )
        func `a host of a fleet tells the server of another host's login where the settings are as there`(
            kind: Kind
        ) async throws {
            try await Self.whileShared(kind) { scene, _ in
                scene.first.add(Route("POST", kind.path) { _ in IssuerResponse(status: 200) })
                let result = try await scene.agent.tokenctl("logout", "work")
                #expect(result.status == 0, "\(result)")
                #expect(kind.isTold(scene.first))
            }
        }

        // MARK: IAM Identity Center

        @Test(.full, .holds("O49"), .enabled(if: IdentityCenterScene.script.isAvailable, isMissing))
        func `a portal that has come into the settings since the login gets no token`() async throws {
            let second = try await DemoIssuer.start(DemoIssuer.Options())
            try await IdentityCenterScene.whileRunning { scene in
                try await scene.logIn()
                let endpoint = "sso_endpoint = \"\(scene.state["endpoint"]?.string ?? "")/\""
                let text = try #require(File.text(scene.agent.configurationPath))
                try scene.agent.configure(
                    text.replacing(endpoint, with: "sso_endpoint = \"\(second.issuer)/\"")
                )
                #expect(try await scene.agent.tokenctl("reload").status == 0)
                let said = try await scene.agent.status("sso")["message"]?.string ?? ""
                #expect(said.contains("another issuer or client"), "\(said)")
                _ = try await scene.agent.tokenctl("logout", "sso")
                #expect(second.requests().isEmpty)
            }
        }
    }
}
