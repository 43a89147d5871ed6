// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// The terminal of a program goes away, as when its window is closed.
    @Suite struct HangUpTests {
        /// Runs a command that leads the session of a terminal, which goes once "ready" was printed there,
        /// and prints the exit status.
        ///
        /// A command that continues anyway is killed.
        private static let script = """
            import os, pty, signal, sys
            pid, terminal = pty.fork()
            if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
            output = b""
            while b"ready" not in output: output += os.read(terminal, 4096)
            os.close(terminal)
            signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
            signal.alarm(30)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            """

        @Test func `a program is told if tokenctl runs in place of the shell`() async throws {
            let scene = try await Scene.loggedIn()
            let told = scene.agent.home.path("told")
            let program =
                "trap 'echo once >>\"\(told)\"; exit 5' HUP; tail -f /dev/null --pid=$$ & echo ready; wait"
            let result = try await Program.run(
                [
                    "/usr/bin/env", "python3", "-c", Self.script, "tokenctl", "exec", "work", "--", "bash",
                    "-c", program,
                ],
                environment: scene.agent.environment
            )
            #expect(result.line == "5", "\(result)")
            #expect(File.text(told) == "once\n")
        }
    }
}
