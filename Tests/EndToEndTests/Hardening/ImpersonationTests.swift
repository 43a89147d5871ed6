// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Programs that want to be taken for another one.
    @Suite struct ImpersonationTests {
        /// The parent becomes git and stays, while its child asks on the parent's connection.
        private static let attacker = """
            import os, socket, sys, time
            request = b"GET /v1/sessions/work/token HTTP/1.1\\r\\nHost: tokenagent\\r\\nConnection: close\\r\\n\\r\\n"
            s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
            wait, hold = os.pipe()
            if os.fork() == 0:
                parent = os.getppid()
                while os.readlink(f"/proc/{parent}/exe") != sys.argv[2]: time.sleep(0.01)
                s.sendall(request)
                print(s.makefile("rb").readline().split()[1].decode(), flush=True)
                os._exit(0)
            os.set_inheritable(hold, True)
            os.dup2(wait, 0)
            os.execv(sys.argv[2], ["git", "hash-object", "--stdin"])
            """

        @Test(.holds("5"), arguments: ["exe", "confirm"])
        func `a program cannot have git named in its place`(rule: String) async throws {
            let directory = try TemporaryDirectory()
            let asked = directory.path("asked")
            let git = try await Program.run(
                ["readlink", "-f", "/usr/bin/git"],
                environment: ["PATH": "/usr/bin:/bin"]
            ).line
            let rules = rule == "exe" ? "exe = \"\(git)\"" : "confirm = true"
            let scene = try await Scene.loggedIn(
                more: """
                    [hooks]
                    confirm = ["sh", "-c", 'echo "$TOKENAGENT_PEER_EXE" >>"$0"', "\(asked)"]
                    """
            )
            let plain = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(plain + "\nallow = [{ \(rules) }]\n")
            scene.agent.agent?.signal(.hangUp)
            #expect(
                try await Polling.until {
                    try await scene.agent.socket.request("GET", "/v1/sessions/work/token").status != 200
                        || File.text(asked) != nil
                }
            )
            let before = (File.text(asked) ?? "").split(separator: "\n").count
            let attacker = try Program(
                ["python3", "-c", Self.attacker, scene.agent.socketPath, git],
                environment: scene.agent.environment
            )
            #expect(try await Polling.until { !attacker.standardOutput.isEmpty }, "\(attacker.standardError)")
            attacker.signal(.kill)
            _ = try await attacker.finish()
            #expect(attacker.standardOutput == (rule == "exe" ? "404\n" : "200\n"))
            // The confirmation prompt does not say that the program is git.
            let shown = (File.text(asked) ?? "").split(separator: "\n", omittingEmptySubsequences: false)
                .dropFirst(before)
            #expect(!shown.contains { $0.contains("git") })
            try scene.agent.configure(plain)
            scene.agent.agent?.signal(.hangUp)
            let lines = try await scene.agent.shell("cat '\(scene.agent.statePath)/audit.log'")
            #expect(!lines.standardOutput.contains(git))
        }
    }
}
