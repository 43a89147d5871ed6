// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// From a server that wants more of the login to the login that has it (RFC 6750 §3.1, RFC 9470).
    @Suite struct SteppingUpTests {
        /// A session that a browser has logged in, and the token it serves.
        private func loggedIn() async throws -> (scene: Scene, token: String) {
            let scene = try await Scene(flow: "browser")
            try await scene.agent.start()
            let login = try await scene.agent.tokenctl("login", "work")
            try #require(login.status == 0, "\(login) \(scene.agent.log)")
            return (scene, try await scene.token())
        }

        /// Has the resource answer the next request with a challenge, and returns the command that is named then.
        private func remedy(for status: Int, _ challenge: String, in scene: Scene) async throws -> String {
            let reply = IssuerResponse(status: status, headers: [("WWW-Authenticate", challenge)])
            scene.issuer.queue(reply, for: "/resource")
            let url = "\(scene.issuer.issuer)/resource"
            let refused = try await scene.agent.tokenctl("curl", "work", "--", "-s", url)
            #expect(refused.status == 4 && refused.complainsInOneLine, "\(refused)")
            return try #require(refused.standardError.split(separator: "\n  Run: ").last.map(String.init))
        }

        private func scopes(_ scene: Scene) async throws -> Set<String> {
            Set(try await scene.agent.status("work")["scope"]?.array?.compactMap(\.string) ?? [])
        }

        @Test(.holds("195"))
        func `the command that is named brings the scope, and the token is served until then`()
            async throws
        {
            let (scene, token) = try await loggedIn()
            let before = try await scopes(scene)
            let command = try await remedy(
                for: 403,
                #"Bearer error="insufficient_scope", scope="email""#,
                in: scene
            )
            #expect(command == "tokenctl login work --scope 'email'\n")
            #expect(try await scene.token() == token)
            #expect(scene.refreshes == 0)
            let login = try await scene.agent.shell(command)
            #expect(login.status == 0, "\(login) \(scene.agent.log)")
            #expect(try await scene.token() != token)
            #expect(try await scopes(scene) == before.union(["email"]))
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(try await scopes(scene) == before.union(["email"]))
        }

        @Test func `a stronger and more recent login is asked for`() async throws {
            let (scene, token) = try await loggedIn()
            let challenge =
                #"Bearer error="insufficient_user_authentication", acr_values="phr mfa", max_age="20""#
            let command = try await remedy(for: 401, challenge, in: scene)
            #expect(command == "tokenctl login work --acr 'phr mfa' --max-age 20s\n")
            #expect(try await scene.token() == token)
            #expect(scene.refreshes == 0)
            #expect(try await scene.agent.shell(command).status == 0)
            let asked = try #require(scene.issuer.requests(to: "/authorize").last?.query)
            #expect(asked["acr_values"] == "phr mfa" && asked["max_age"] == "20")
        }

        @Test(.holds("195")) func `another account does not take the place of the present one`() async throws
        {
            let (scene, token) = try await loggedIn()
            scene.issuer.registry.users.reverse()
            let living = Set(scene.issuer.livingRefreshTokens)
            let login = try await scene.agent.tokenctl("login", "work", "--scope", "email")
            #expect(login.status == 4 && login.standardError.contains("another account"), "\(login)")
            #expect(try await scene.token() == token)
            // What the other account was given is given back, and the present login lives on.
            #expect(Set(scene.issuer.livingRefreshTokens) == living)
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(try await scene.agent.status("work")["state"]?.string == "ready")
        }

        @Test(.holds("195"))
        func `what a hostile server asks for does nothing in the shell it is pasted into`() async throws {
            let (scene, _) = try await loggedIn()
            let file = scene.agent.home.path("pwned")
            let words = "$(touch${IFS}\(file)) `touch${IFS}\(file)` ';touch${IFS}\(file);' email"
            let command = try await remedy(
                for: 403,
                "Bearer error=\"insufficient_scope\", scope=\"\(words)\"",
                in: scene
            )
            let login = try await scene.agent.shell(command)
            #expect(login.status == 0, "\(command) \(login)")
            #expect(!File.exists(file))
            let asked = scene.issuer.requests(to: "/authorize").last?.query["scope"]
            #expect(asked?.hasSuffix(words) == true, "\(asked ?? "")")
        }
    }
}
