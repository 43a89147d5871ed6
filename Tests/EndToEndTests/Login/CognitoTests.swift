// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isMissing: Comment =
    "the script that runs moto is not here; set TOKENAGENT_IDP_DIR to its directory"

extension EndToEnd {
    /// The real programs against a user pool of somebody else's making.
    @Suite(.enabled(if: MotoPool.script.isAvailable, isMissing), .motoPool, .serialized)
    struct CognitoTests {
        @Test(arguments: ["public", "confidential"], ["password", "srp"])
        func `a session lives from login to logout`(client: String, flow: String) async throws {
            let scene = try await CognitoScene(client: client, flow: flow)
            let login = try await scene.agent.tokenctl(
                "login",
                "aws",
                "--username",
                "bob",
                "--password-stdin",
                input: scene.pool.password("bob") + "\n"
            )
            try #require(login.status == 0, "\(login.standardError) \(scene.agent.log)")
            let first = try await scene.get()
            let idToken = try await scene.get("--id-token")
            #expect(idToken != first)
            let claims = try await scene.agent.tokenctl("claims", "aws", "--id-token", "--json")
            #expect(claims.standardOutput.contains(#""token_use":"id""#), "\(claims)")
            #expect(claims.standardOutput.contains("bob"))
            #expect(try await scene.agent.tokenctl("refresh", "aws").status == 0)
            let second = try await scene.get()
            #expect(second != first)
            // The pool keeps the refresh token, and every refresh brings another ID token.
            #expect(try await scene.get("--id-token") != idToken)
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.get() == second)
            let status = try await scene.agent.status("aws")
            #expect(status["account"]?.string == "bob")
            #expect((3000...3600).contains(status["expires_in"]?.integer ?? 0))
            #expect(try await scene.agent.tokenctl("refresh", "aws").status == 0)
            let logout = try await scene.agent.tokenctl("logout", "aws")
            #expect(logout.status == 0, "\(logout.standardError)")
            #expect(try await scene.agent.tokenctl("get", "aws").status == 4)
        }

        @Test func `a temporary password is replaced at the terminal`() async throws {
            let scene = try await CognitoScene()
            let terminal = try scene.logInAtTerminal("carol")
            try await terminal.type(scene.pool.password("carol"), after: "Password of carol: ")
            try await terminal.type("Carol-chosen-22", after: "New password: ")
            #expect(try await terminal.shows("Logged in to \"aws\""), "\(terminal.screen)")
            #expect(!terminal.screen.contains("Carol-chosen-22"))
            #expect(!terminal.screen.contains(scene.pool.password("carol")))
            #expect(try await !scene.get().isEmpty)
        }

        @Test func `a second factor is typed at the terminal, again after a wrong code`() async throws {
            let scene = try await CognitoScene()
            let terminal = try scene.logInAtTerminal("dave")
            try await terminal.type(scene.pool.password("dave"), after: "Password of dave: ")
            try await terminal.type("000000", after: "Code from the authenticator app: ")
            var asked = 1
            let isLoggedIn = try await Polling.until {
                // A code that is over when it arrives is asked for again, by a server that takes no other.
                let now = terminal.screen.matches(of: #/authenticator app: /#).count
                if now > asked {
                    asked = now
                    try await terminal.type(scene.pool.code(), after: "authenticator app: ")
                }
                return terminal.screen.contains("Logged in to \"aws\"")
            }
            #expect(isLoggedIn && asked > 1, "\(terminal.screen)")
            #expect(try await !scene.get().isEmpty)
        }

        @Test func `a second factor is asked for and answered over the socket`() async throws {
            let scene = try await CognitoScene(client: "confidential")
            let body: JSONValue = ["username": "dave", "secret": .string(scene.pool.password("dave"))]
            let request = try scene.agent.home.write(body.text, to: "request")
            let login = try Program(
                [
                    "curl", "-sSN", "--unix-socket", scene.agent.socketPath, "--json", "@\(request)",
                    "http://tokenagent/v1/sessions/aws/login",
                ],
                environment: scene.agent.environment
            )
            var answered = 0
            let hasEnded = try await Polling.until {
                let lines = login.standardOutput.split(separator: "\n", omittingEmptySubsequences: false)
                let needs = lines.dropLast().filter { $0.contains(#""need""#) }
                // A code that is over when it arrives is asked for again, by a server that takes no other.
                if needs.count > answered {
                    answered = needs.count
                    try await scene.answer(needs[needs.count - 1])
                }
                return login.exitStatus != nil
            }
            #expect(hasEnded && answered > 0, "\(login.standardOutput)")
            let result = try await login.finish()
            #expect(result.standardOutput.contains(#""event":"done""#), "\(result)")
            #expect(try await !scene.get().isEmpty)
        }

        @Test func `a wrong password is told apart from a wrong pool`() async throws {
            let scene = try await CognitoScene()
            let wrong = try await scene.agent.tokenctl(
                "login",
                "aws",
                "--username",
                "alice",
                "--password-stdin",
                input: "not-the-password\n"
            )
            #expect(wrong.status == 4, "\(wrong)")
            let text = try #require(File.text(scene.agent.configurationPath))
            let client = scene.pool.client("public")["client_id"]?.string ?? ""
            try scene.agent.configure(text.replacing(client, with: "no-such-client"))
            scene.agent.agent?.signal(.hangUp)
            let misconfigured = try await Polling.until {
                let login = try await scene.agent.tokenctl(
                    "login",
                    "aws",
                    "--username",
                    "alice",
                    "--password-stdin",
                    input: scene.pool.password("alice") + "\n"
                )
                return login.status == 2 && login.standardError.contains("ResourceNotFoundException")
            }
            #expect(misconfigured)
        }
    }
}
