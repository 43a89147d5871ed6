// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Remedies for a login that did not come to its end.
    @Suite(.full) struct LoginRemedyTests {
        /// A program that has the port in the file `HOME/port`.
        private static let listener = """
            import socket, signal
            s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
            print(s.getsockname()[1], flush=True); signal.pause()
            """

        @Test(arguments: [false, true])
        func `a port that a program has is set free, or not needed`(isPasted: Bool) async throws {
            let program = try Program(
                ["python3", "-c", Self.listener],
                environment: ["PATH": TestEnvironment.searchPath]
            )
            let port = try await program.outputLine(containing: "").prefix { $0.isNumber }
            let scene = try await Scene(session: "redirect_port = \(port)", flow: "browser")
            try await scene.agent.start()
            let refused = try await scene.agent.tokenctl("login", "work")
            let remedy = "--paste"
            #expect(refused.status == 2 && PrintedRemedy(refused, holding: remedy) != nil, "\(refused)")
            if isPasted {
                let answer = "curl -s -o /dev/null -w '%{redirect_url}\\n' \"$url\" >&9"
                let pasted = try await scene.agent.shell(Scene.pastedLogin(answer))
                #expect(pasted.status == 0, "\(pasted)")
            } else {
                program.signal(.terminate)
                _ = try await program.finish()
                let login = try await scene.agent.tokenctl("login", "work")
                #expect(login.status == 0, "\(login)")
            }
            #expect(try await scene.agent.tokenctl("get", "work").status == 0)
        }

        @Test func `keys that an issuer does not name are named in the session`() async throws {
            let scene = try await Scene({ $0.metadata["jwks_uri"] = .null })
            try await scene.agent.start()
            let line = "tokenctl login work \(Scene.password.more)"
            let refused = try await scene.paste(line, input: Scene.password.input)
            let remedy = "jwks_uri to the URL of the issuer's keys"
            #expect(PrintedRemedy(refused, holding: remedy) != nil, "\(refused)")
            let text = try #require(File.text(scene.agent.configurationPath))
            let keys = "jwks_uri = \"\(scene.issuer.issuer)/jwks\"\nflow ="
            try scene.agent.configure(text.replacing("flow =", with: keys))
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            let login = try await scene.paste(line, input: Scene.password.input)
            #expect(login.status == 0, "\(login)")
        }

        @Test func `a client secret is kept once the session keeps one, as it is said`() async throws {
            let scene = try await Scene(flow: "client_credentials", client: "demo-confidential")
            let text = try #require(File.text(scene.agent.configurationPath))
            let wrong = "client_secret = \"wrong\"\nflow ="
            try scene.agent.configure(text.replacing("flow =", with: wrong))
            try await scene.agent.start()
            let line = "tokenctl login work --client-secret-stdin"
            let refused = try await scene.paste(line, input: "demo-secret-7f3a\n")
            let words = "client_secret_sealed = true in [session.work], then run tokenctl reload"
            let remedy = try #require(PrintedRemedy(refused, holding: words), "\(refused)")
            let sealed = text.replacing("flow =", with: "client_secret_sealed = true\nflow =")
            try await scene.follow(remedy, .configuration { _, _ in sealed })
            let login = try await scene.paste(line, input: "demo-secret-7f3a\n")
            #expect(login.status == 0, "\(login) \(scene.agent.log)")
            #expect(try await scene.agent.tokenctl("get", "work").status == 0)
        }

        @Test func `an answer behind a fragment is asked for in the query`() async throws {
            let scene = try await Scene(flow: "browser")
            try await scene.agent.start()
            let answer = """
                for try in 1 2 3; do
                    curl -s -o /dev/null -w '%{redirect_url}\\n' "$url" | sed 's/?/#/' >&9
                done
                """
            let refused = try await scene.agent.shell(Scene.pastedLogin(answer) + "\ncat \"$HOME/shown\" >&2")
            let remedy = "response_mode = \"query\" in authorization_parameters"
            #expect(PrintedRemedy(refused, holding: remedy) != nil, "\(refused)")
            let text = try #require(File.text(scene.agent.configurationPath))
            let mode = "authorization_parameters = { response_mode = \"query\" }\nflow ="
            try scene.agent.configure(text.replacing("flow =", with: mode))
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            for file in ["pasted", "shown"] { File.remove(scene.agent.home.path(file)) }
            let query = "curl -s -o /dev/null -w '%{redirect_url}\\n' \"$url\" >&9"
            let login = try await scene.agent.shell(Scene.pastedLogin(query))
            #expect(login.status == 0, "\(login)")
            #expect(scene.issuer.requests(to: "/authorize").last?.query["response_mode"] == "query")
        }

        @Test func `what was wrong with an ID token is shown as it is said`() async throws {
            let scene = try await Scene.loggedIn { $0.knownScopes.remove("openid") }
            let broken: JSONValue = [
                "access_token": "at", "token_type": "Bearer", "expires_in": 600, "id_token": "no.id.token",
            ]
            scene.issuer.queue(Disturbance(reply: .json(broken)))
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let none = try await scene.agent.tokenctl("get", "work", "--id-token")
            let remedy = try #require(PrintedRemedy(none, holding: "tokenctl status work"), "\(none)")
            let status = try await scene.agent.tokenctl("status", "work")
            #expect(remedy.command == "tokenctl status work")
            #expect(status.standardOutput.contains("ID token"), "\(status)")
            scene.issuer.settings.knownScopes.insert("openid")
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl("get", "work", "--id-token").status == 0)
        }

        @Test func `a program that wants a person is run by hand`() async throws {
            let agent = try AgentUnderTest()
            let tool = try agent.home.write(
                """
                #!/bin/sh
                [ -e "$0.done" ] && exec echo t
                [ "$1" = token ] && exit 4
                touch "$0.done"

                """,
                to: "tool",
                mode: 0o700
            )
            try agent.configure(
                "[session.work]\nkind = \"command\"\nexpires_in = \"1h\"\ncommand = [\"\(tool)\", \"token\"]\n"
            )
            try await agent.start()
            let refused = try await agent.tokenctl("get", "work")
            #expect(PrintedRemedy(refused, holding: "after a login with \(tool)") != nil, "\(refused)")
            #expect(try await agent.shell(tool).status == 0)
            let after = try await agent.tokenctl("refresh", "work")
            #expect(after.status == 0, "\(after) \(agent.log)")
        }
    }
}
