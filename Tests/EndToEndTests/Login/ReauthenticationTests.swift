// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Ended sessions that log in again without the user, or report why they cannot.
    @Suite struct ReauthenticationTests {
        /// A session whose `reauth_command` is `command`, logged in; events go to the file `events`.
        private func scene(_ command: String, client: String = "demo-confidential") async throws -> Scene {
            let scene = try await Scene(
                session: """
                    reauth = ["command", "client_credentials", "prompt"]
                    reauth_command = \(command)
                    client_secret = "demo-secret-7f3a"
                    """,
                client: client
            )
            let recorder =
                #"["sh", "-c", 'echo "$TOKENAGENT_EVENT $TOKENAGENT_REASON" >>"$0"', "\#(events(scene))"]"#
            let configuration = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure("[hooks]\nevent = \(recorder)\n" + configuration)
            try await scene.agent.start()
            try await scene.logIn()
            scene.issuer.forgetRequests()
            return scene
        }

        private func events(_ scene: Scene) -> String { scene.agent.home.path("events") }

        private func told(_ scene: Scene) -> [String] {
            (File.text(events(scene)) ?? "").split(separator: "\n").map(String.init)
        }

        @Test func `a command that prints the password brings the session back`() async throws {
            let scene = try await scene(#"["echo", "alice-password"]"#)
            let old = try await scene.token()
            // Who logged in is known after a restart too.
            try await scene.agent.kill()
            try await scene.agent.start()
            scene.issuer.killGrants()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let new = try await scene.token()
            #expect(new != old)
            #expect(try await scene.isAccepted(new))
            #expect(try await scene.agent.reaches("ready", "work"))
            let grants = scene.issuer.requests(to: "/token").map { $0.form["grant_type"] }
            #expect(grants == ["refresh_token", "password"])
            let login = scene.issuer.requests(to: "/token").last?.form
            #expect(login?["username"] == "alice" && login?["password"] == "alice-password")
            #expect(try await Polling.until { told(scene).count >= 2 })
            #expect(told(scene) == ["logged_in ", "logged_in "])
            // What came is a login like any other.
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
        }

        @Test(arguments: [
            #"["false"]"#, #"["true"]"#, #"["echo"]"#, #"["echo", "wrong-password"]"#, #"["/nonexistent"]"#,
            #"["sh", "-c", "kill -9 $$"]"#,
        ])
        func `when the command does not help the client's own credentials are next`(
            command: String
        ) async throws {
            let scene = try await scene(command)
            scene.issuer.killGrants()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(try await scene.isAccepted(scene.token()))
            #expect(scene.issuer.tokenRequests("client_credentials") == 1)
            #expect(scene.issuer.tokenRequests("password") == (command.contains("wrong") ? 1 : 0))
            #expect(!told(scene).contains { $0.hasPrefix("login_required") })
        }

        @Test func `when nothing helps the person is told once, and nothing is left to serve`() async throws {
            let scene = try await scene(#"["false"]"#)
            scene.issuer.killGrants()
            scene.issuer.queue(
                Disturbance(reply: .failure("unauthorized_client"), grantType: "client_credentials")
            )
            let result = try await scene.agent.tokenctl("refresh", "work")
            #expect(result.status == 4)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardError.contains("tokenctl login work"))
            // The access token had minutes to live.
            for _ in 0..<5 { #expect(try await scene.agent.tokenctl("get", "work").status == 4) }
            let status = try await scene.agent.status("work")
            #expect(status["state"]?.string == "logged_out" && status["reason"]?.string == "grant_dead")
            let text = JSONValue.object(status).text
            #expect(text.contains("command: false: exit status 1"), "\(text)")
            #expect(text.contains("client_credentials: "), "\(text)")
            #expect(scene.issuer.requests(to: "/token").count == 2)
            #expect(try await Polling.until { told(scene).contains { $0.hasPrefix("login_required") } })
            try await scene.logIn()
            #expect(try await scene.isAccepted(scene.token()))
            #expect(try await Polling.until { told(scene).last == "logged_in " })
            #expect(told(scene).count { $0 == "login_required grant_dead" } == 1)
        }
    }
}
