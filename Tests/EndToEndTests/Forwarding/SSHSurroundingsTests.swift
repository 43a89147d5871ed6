// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Effects of the user's ssh_config(5) and of programs on the other host on `tokenctl ssh`.
    @Suite(.full, .enabled(if: SSHServer.isInstalled, SSHServer.reason))
    struct SSHSurroundingsTests {
        /// Runs a command on the other host, with the tokens of `work` there.
        private func far(
            _ command: String,
            _ scene: Scene,
            _ server: SSHServer
        ) async throws -> ProgramResult {
            let arguments = ["ssh", "--session", "work"] + server.configuration
            return try await scene.agent.tokenctl(arguments + ["far", command])
        }

        @Test(
            arguments: [
                "SessionType none", "SessionType subsystem", "StdinNull yes", "ForkAfterAuthentication yes",
                "RemoteCommand false", "RemoteCommand false\n  ForkAfterAuthentication yes",
            ]
        )
        func `what leaves no shell or command in ssh_config is overruled`(line: String) async throws {
            let scene = try await Scene.loggedIn()
            let server = try await SSHServer.start()
            try server.configure(line)
            let result = try await far("tokenctl list; exit 5", scene, server)
            #expect(result.line == "work" && result.status == 5, "\(result)")
            #expect(server.sockets.isEmpty)
        }

        @Test func `a server that takes one session alone is named with its setting`() async throws {
            let scene = try await Scene.loggedIn()
            let server = try await SSHServer.start("MaxSessions 1")
            let result = try await far("true", scene, server)
            #expect(result.status == 255, "\(result)")
            #expect(result.standardError.contains("Set: MaxSessions in its sshd_config(5) to 2"), "\(result)")
            #expect(server.sockets.isEmpty)
            let other = try await SSHServer.start("MaxSessions 2")
            let after = try await far("true", scene, other)
            #expect(after.status == 0 && after.standardError.isEmpty, "\(after)")
        }

        @Test(arguments: [true, false])
        func `a socket that ssh_config forwards comes back if the host removes the old one`(
            isRemoved: Bool
        ) async throws {
            let scene = try await Scene.loggedIn()
            let server = try await SSHServer.start(isRemoved ? "StreamLocalBindUnlink yes" : "")
            let (here, there) = (scene.agent.home.path("here.sock"), server.directory.path("there.sock"))
            let table = "[[socket]]\npath = \"\(here)\"\nsessions = [\"work\"]\n"
            try scene.agent.configure(table + (File.text(scene.agent.configurationPath) ?? ""))
            try await scene.agent.end()
            try await scene.agent.start()
            let file = server.configuration[1]
            let setup = try await scene.agent.tokenctl([
                "setup", "ssh", "--host", "far", "--local", here, "--remote", there, "--file", file,
            ])
            #expect(
                setup.status == 0 && setup.standardOutput.contains("StreamLocalBindUnlink yes"),
                "\(setup)"
            )
            let command =
                "ssh -F \(file) far 'TOKENAGENT_SOCK=\(there) TOKENAGENT_AUTOSTART=0 tokenctl get work'"
            let token = try await scene.token()
            #expect(try await scene.agent.shell(command).line == token)
            let second = try await scene.agent.shell(command)
            #expect(isRemoved ? second.line == token : second.status == 3, "\(second)")
            // What the setup names for the other hosts.
            #expect(try await far("tokenctl get work", scene, server).line == token)
        }

        @Test func `a program there that holds a connection does not hold up the end`() async throws {
            let scene = try await Scene.loggedIn()
            let server = try await SSHServer.start()
            let holder = """
                import os, socket, time
                s = socket.socket(socket.AF_UNIX); s.connect(os.environ["TOKENAGENT_SOCK"])
                print(os.getpid(), flush=True); time.sleep(600)
                """
            try server.directory.write(holder, to: "home/holder.py")
            let script = """
                cd; python3 holder.py </dev/null >held 2>&1 &
                cd; until [ -s held ]; do sleep 0.01; done; cat held; date +%s
                """
            let result = try await far(script, scene, server)
            let ended = time(nil)
            let words = result.standardOutput.split { $0.isWhitespace }
            try #require(result.status == 0 && words.count == 2, "\(result)")
            #expect(Program.succeeds("kill \(words[0])"))
            // ssh alone would wait for the program. The other host has five seconds to clean up.
            #expect(try #require(time_t(words[1])) + 4 > ended)
            #expect(server.sockets.isEmpty)
        }
    }
}
