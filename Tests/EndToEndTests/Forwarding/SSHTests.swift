// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// `tokenctl ssh` at a real sshd.
    @Suite(.full, .enabled(if: SSHServer.isInstalled, SSHServer.reason))
    struct SSHTests {
        /// A scene with a second session, `mail`, both logged in.
        private func scene(_ session: String = "") async throws -> Scene {
            let scene = try await Scene(session: session)
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + Scene.session("mail", scene.issuer))
            try await scene.agent.start()
            try await scene.logIn()
            try await scene.logIn("mail")
            return scene
        }

        /// Runs a command on the other host, with the tokens of `work` there.
        private func far(
            _ command: String,
            _ scene: Scene,
            _ server: SSHServer,
            _ options: [String] = [],
            input: String = ""
        ) async throws -> ProgramResult {
            let arguments = ["ssh", "--session", "work"] + server.configuration + options
            return try await scene.agent.tokenctl(arguments + ["far", command], input: input)
        }

        @Test(.holds("250")) func `tokens of the sessions, and nothing else, are had on the other host`()
            async throws
        {
            let scene = try await scene(#"hosts = ["127.0.0.1"]"#)
            let server = try await SSHServer.start()
            let token = try await scene.token()
            #expect(try await far("tokenctl get work", scene, server).line == token)
            #expect(try await far("tokenctl list", scene, server).line == "work")
            let status = try await far("tokenctl status work --json", scene, server)
            #expect(status.status == 0, "\(status)")
            let members = try JSONValue(parsing: status.standardOutput.utf8).object?.members.map(\.name)
            #expect(members == ["session", "state", "hosts", "expires_at", "expires_in"], "\(status)")
            for (command, code) in [
                ("tokenctl get mail", 7), ("tokenctl logout work", 8), ("tokenctl refresh work", 8),
                ("tokenctl lock", 8), ("tokenctl audit", 8), ("tokenctl get work --scope api", 8),
            ] {
                let result = try await far(command, scene, server)
                #expect(result.status == code, "\(command): \(result)")
            }
            let exec = try await far(
                #"tokenctl exec work -- sh -c 'cat "$BEARER_TOKEN_FILE"'"#,
                scene,
                server
            )
            #expect(exec.line == token, "\(exec)")
            let api = scene.issuer.issuer + "/resource"
            let curl = try await far("tokenctl curl work -- -s \(api)", scene, server)
            #expect(curl.standardOutput.contains(#""hello":"alice""#), "\(curl)")
            let report = try await far(
                "echo \(token) | tokenctl report work --status 401",
                scene,
                server
            )
            #expect(report.status == 0 && report.line != token && !report.line.isEmpty, "\(report)")
            #expect(scene.refreshes == 1)
        }

        @Test func `a scope that is not given out there is, over a socket that names it`() async throws {
            let scene = try await scene()
            let server = try await SSHServer.start()
            let refused = try await far("tokenctl get work --scope api", scene, server)
            let remedy = "over ssh -R to a [[socket]] that lists api in scopes"
            #expect(PrintedRemedy(refused, holding: remedy) != nil, "\(refused)")
            let (here, there) = (scene.agent.home.path("here.sock"), scene.agent.home.path("there.sock"))
            let table = "[[socket]]\npath = \"\(here)\"\nsessions = [\"work\"]\nscopes = [\"api\"]\n"
            try scene.agent.configure(table + (File.text(scene.agent.configurationPath) ?? ""))
            try await scene.agent.end()
            try await scene.agent.start()
            let options = (server.configuration + ["-R", "\(there):\(here)"]).joined(separator: " ")
            let command = "TOKENAGENT_SOCK=\(there) \(BuiltPrograms.client) get work --scope api"
            let given = try await scene.agent.shell("ssh \(options) far '\(command)'")
            #expect(given.status == 0 && !given.line.isEmpty, "\(given)")
        }

        @Test(.holds("250")) func `the helpers of git, docker and others work there`() async throws {
            let scene = try await scene(#"hosts = ["127.0.0.1"]"#)
            let server = try await SSHServer.start()
            let token = try await scene.token()
            for command in [
                #"printf 'protocol=https\nhost=127.0.0.1\n\n' | tokenctl git-credential get"#,
                "echo https://127.0.0.1 | tokenctl docker-credential get",
                "tokenctl keyring get https://127.0.0.1/ me", "tokenctl kube-credential work",
                "tokenctl goauth https://127.0.0.1/x", "tokenctl terraform get 127.0.0.1",
                #"echo '{"uri":"https://127.0.0.1"}' | tokenctl bazel get"#,
            ] {
                let result = try await far(command, scene, server)
                #expect(result.standardOutput.contains(token), "\(command): \(result)")
            }
        }

        @Test(.holds("250")) func `git clones there with the forwarded helper, and heals a refused token`()
            async throws
        {
            let scene = try await scene(#"hosts = ["127.0.0.1"]"#)
            let server = try await SSHServer.start()
            let repository = try await GitRepository(in: scene.agent.home)
            let old = try await scene.token()
            repository.serve(at: scene.issuer) { $0 == old }
            let clone =
                "cd; GIT_TERMINAL_PROMPT=0 git -c credential.helper='!tokenctl git-credential' clone -q"
            let url = repository.url(at: scene.issuer)
            let first = try await far("\(clone) \(url) one && cat one/file", scene, server)
            #expect(first.line == "content", "\(first)")
            repository.serve(at: scene.issuer) { $0 != old }
            #expect(try await far("\(clone) \(url) two", scene, server).status != 0)
            #expect(scene.refreshes == 1)
            let last = try await far("\(clone) \(url) two && cat two/file", scene, server)
            #expect(last.line == "content", "\(last)")
        }

        @Test(.holds("250")) func `the socket lies in a new private directory, and both are gone at the end`()
            async throws
        {
            let scene = try await scene()
            let server = try await SSHServer.start()
            let script = #"stat -c '%a %F' "$TOKENAGENT_SOCK" "$(dirname "$TOKENAGENT_SOCK")"; exit 23"#
            let result = try await far(script, scene, server)
            #expect(result.status == 23)
            #expect(result.standardOutput == "600 socket\n700 directory\n", "\(result)")
            #expect(result.standardError.isEmpty)
            #expect(server.sockets.isEmpty)
            #expect(scene.agent.home.names(in: "run/tokenagent/ssh").isEmpty)
        }

        @Test(.holds("250")) func `the audit log names the host`() async throws {
            let scene = try await scene()
            let server = try await SSHServer.start()
            _ = try await far("tokenctl get work; tokenctl get mail", scene, server)
            let audit = try await scene.agent.tokenctl("audit").standardOutput.split(separator: "\n")
            let ends = audit.suffix(2).map { $0.hasSuffix("for far") }
            #expect(ends == [true, true], "\(audit)")
            let json = try await scene.agent.tokenctl("audit", "work", "--json").standardOutput
            #expect(json.contains(#""host":"far""#), "\(json)")
        }

        @Test(.holds("250")) func `two connections at once keep apart`() async throws {
            let scene = try await scene()
            let server = try await SSHServer.start()
            let waiting = "echo $$ ready; exec sleep 600"
            let start = ["ssh", "--session", "work"] + server.configuration + ["far", waiting]
            let first = try scene.agent.startTokenctl(start)
            let orphan = try await first.outputLine(containing: "ready").split(separator: " ")[0]
            #expect(server.sockets.count == 1)
            let other = ["ssh", "--session", "mail"] + server.configuration
            let second = try await scene.agent.tokenctl(other + ["far", "tokenctl list"])
            #expect(second.line == "mail", "\(second)")
            #expect(server.sockets.count == 1)
            #expect(try await far("tokenctl list", scene, server).line == "work")
            first.signal(.terminate)
            _ = try await first.finish()
            #expect(try await Polling.until { server.sockets.isEmpty })
            #expect(Program.succeeds("kill \(orphan)"))
        }

        @Test func `when ssh is suspended so is the command, until both go on`() async throws {
            let scene = try await scene()
            let server = try await SSHServer.start()
            let script = "echo $$ ready; exec sleep 600"
            let start = ["ssh", "--session", "work"] + server.configuration + ["far", script]
            let program = try scene.agent.startTokenctl(start)
            let orphan = try await program.outputLine(containing: "ready").split(separator: " ")[0]
            let children = File.text("/proc/\(program.pid)/task/\(program.pid)/children") ?? ""
            let shell = try #require(children.split(separator: " ").last)
            func state(_ process: some StringProtocol) -> Character? {
                File.text("/proc/\(process)/stat")?.split(separator: ")").last?.dropFirst().first
            }
            #expect(Program.succeeds("kill -STOP \(shell)"))
            #expect(try await Polling.until { state("\(program.pid)") == "T" })
            program.signal(.proceed)
            #expect(try await Polling.until { state("\(program.pid)") != "T" && state(shell) != "T" })
            #expect(Program.succeeds("kill \(orphan)"))
            #expect(try await program.finish().status != 0)
        }

        @Test(.holds("250")) func `after a crash nothing is left there, and the next connection works`()
            async throws
        {
            let scene = try await scene()
            let server = try await SSHServer.start()
            let start = ["ssh", "--session", "work"] + server.configuration
            let killed = try scene.agent.startTokenctl(
                start + ["far", "echo $$ ready; exec sleep 600"]
            )
            let orphan = try await killed.outputLine(containing: "ready").split(separator: " ")[0]
            killed.signal(.kill)
            try await killed.finish()
            #expect(try await Polling.until { server.sockets.isEmpty })
            #expect(try await far("tokenctl list", scene, server).line == "work")
            #expect(scene.agent.home.names(in: "run/tokenagent/ssh").isEmpty)
            #expect(Program.succeeds("kill \(orphan)"))
        }

        @Test(.holds("250"))
        func `what a killed keeper left goes with the next connection, and nothing else does`()
            async throws
        {
            let scene = try await scene()
            let server = try await SSHServer.start()
            for name in ["tokenagent-ssh.999999999.left", "tokenagent-ssh.1.kept", "other.1.kept"] {
                // A program that was killed there has left its token.
                for folder in ["", "/exec", "/exec/TRUdVY"] {
                    try server.directory.makeDirectory("runtime/\(name)\(folder)")
                }
                try server.directory.write("", to: "runtime/\(name)/exec/TRUdVY/token")
                try server.directory.write("", to: "runtime/\(name)/sock")
            }
            // What programs put beside the socket goes with it.
            let programs = "tokenctl exec work -- true && tokenctl kube-credential work >/dev/null"
            #expect(try await far(programs, scene, server).status == 0)
            #expect(server.directory.names(in: "runtime") == ["other.1.kept", "tokenagent-ssh.1.kept"])
        }

        @Test func `a shell and a command with quotes arrive whole`() async throws {
            let scene = try await scene()
            let server = try await SSHServer.start()
            let word = #"a'b\c"d $HOME"#
            let result = try await far("printf '%s\\n' 'a'\\''b\\c\"d $HOME'", scene, server)
            #expect(result.line == word, "\(result)")
            let arguments = ["ssh", "--session", "work"] + server.configuration + ["far"]
            // A login shell may set a PATH of its own.
            let script = "'\(BuiltPrograms.client)' list; exit 5\n"
            let shell = try await scene.agent.tokenctl(arguments, input: script)
            #expect(shell.line == "work" && shell.status == 5, "\(shell)")
        }

        @Test(.holds("250"), .enabled(if: Program.succeeds("command -v fish"), "fish is not installed"))
        func `the login shell may be fish`() async throws {
            let scene = try await scene()
            // What sshd does with a user whose login shell it is.
            let server = try await SSHServer.start(
                #"ForceCommand SHELL=$(command -v fish) exec fish -c "$SSH_ORIGINAL_COMMAND""#
            )
            let result = try await far(
                "set -l name work; tokenctl get $name; string upper 'it'\\''s \\\\ fish'",
                scene,
                server
            )
            #expect(result.standardOutput == "\(try await scene.token())\nIT'S \\ FISH\n", "\(result)")
            #expect(server.sockets.isEmpty)
        }

        @Test(.holds("250")) func `a host that forwards no sockets is refused with what it has to allow`()
            async throws
        {
            let scene = try await scene()
            let server = try await SSHServer.start("AllowStreamLocalForwarding no")
            let result = try await far("tokenctl list", scene, server)
            #expect(result.status == 8)
            #expect(result.standardOutput.isEmpty)
            #expect(result.standardError.contains("AllowStreamLocalForwarding"), "\(result)")
            #expect(server.sockets.isEmpty)
            let other = try await SSHServer.start("AllowStreamLocalForwarding yes\nDisableForwarding no")
            #expect(try await far("tokenctl list", scene, other).line == "work")
        }

        @Test func `a host that is not there is ssh's own failure`() async throws {
            let scene = try await scene()
            let result = try await scene.agent.tokenctl(
                "ssh",
                "--session",
                "work",
                "-o",
                "BatchMode=yes",
                "-p",
                "1",
                "127.0.0.1",
                "true"
            )
            #expect(result.status == 255)
            #expect(!result.standardError.contains("tokenctl:"), "\(result)")
        }

        @Test(
            arguments: [
                ([], 2), (["far"], 2), (["--session", "nobody", "far"], 7), (["--session", "work"], 2),
                (["--session", "work", "-f", "far"], 2), (["--session", "work", "far", "-N"], 2),
                (["--session", "work", "-S", "x", "far"], 2), (["--session", "work", "far", "-p"], 2),
                (["--session", "work", "a b"], 2), (["--session", "work", "-Z", "far"], 2),
            ] as [([String], Int32)]
        )
        func `wrong usage is refused before anybody is asked`(words: [String], status: Int32) async throws {
            let scene = try await Scene.loggedIn()
            let result = try await scene.agent.tokenctl(["ssh"] + words)
            #expect(result.status == status, "\(result)")
            #expect(result.complainsInOneLine, "\(result)")
        }

        @Test func `it needs the agent's own socket`() async throws {
            let scene = try await scene()
            let path = scene.agent.home.path("run/tokenagent/work.sock")
            let plain = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(plain + "\n[[socket]]\npath = \"\(path)\"\nsessions = [\"work\"]\n")
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            let result = try await scene.agent.tokenctl("--socket", path, "ssh", "--session", "work", "far")
            let other = try await scene.agent.tokenctl("ssh", "--socket", path, "--session", "work", "far")
            #expect(result.status == 2 && other.status == 8, "\(result) \(other)")
        }
    }
}
