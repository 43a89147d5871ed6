// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// A person at a terminal, played by a script.
    @Suite struct TerminalTests {
        /// Runs a program as the foreground job of a new terminal, types keys at its prompt, and tells what happened.
        private static let script = """
            import json, os, pty, select, signal, sys, termios, time
            keys, command = sys.argv[1].encode().decode("unicode_escape").encode(), sys.argv[2:]
            echo = lambda fd: bool(termios.tcgetattr(fd)[3] & termios.ECHO)
            def leader():
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                job = os.fork()
                if job == 0:
                    os.setpgid(0, 0)
                    os.tcsetpgrp(0, os.getpid())
                    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                    os.execvp(command[0], command)
                stops = 0
                while True:
                    _, status = os.waitpid(job, os.WUNTRACED)
                    if not os.WIFSTOPPED(status): break
                    stops += 1
                    os.tcsetpgrp(0, os.getpid())
                    print("STOPPED", json.dumps({"echo": echo(0)}), flush=True)
                    os.tcsetpgrp(0, job)
                    os.kill(job, signal.SIGCONT)
                os.tcsetpgrp(0, os.getpid())
                left = bool(select.select([0], [], [], 0)[0])
                print("RESULT", json.dumps({"status": os.waitstatus_to_exitcode(status), "echo": echo(0), "stops": stops, "left": left}), flush=True)
                os._exit(0)
            pid, fd = pty.fork()
            if pid == 0: leader()
            out, prompts, hidden = b"", 0, True
            while True:
                try: chunk = os.read(fd, 4096)
                except OSError: break
                if not chunk: break
                out += chunk
                while out.count(b"assword") > prompts:
                    prompts += 1
                    hidden = hidden and not echo(fd)
                    key, _, keys = keys.partition(b"|")
                    os.write(fd, key)
            os.waitpid(pid, 0)
            print(json.dumps({"hidden": hidden and prompts > 0, "prompts": prompts, "text": out.decode(errors="replace")}))
            """

        private struct Outcome {
            var text: String
            /// What was typed could not be seen at any prompt.
            var wasHidden: Bool
            /// The terminal shows again what is typed.
            var isRestored: Bool
            var stops: Int
            /// Something typed waits for who reads the terminal next.
            var leavesInput: Bool
            var status: Int32
        }

        /// Types `keys` at the password prompts, `|` between those of one and the next.
        private func type(_ keys: String, _ scene: Scene) async throws -> Outcome {
            let command = ["tokenctl", "login", "work", "--flow", "password", "--username", "alice"]
            let result = try await Program.run(
                ["/usr/bin/env", "python3", "-c", Self.script, keys] + command,
                environment: scene.agent.environment
            )
            let text = result.standardOutput
            return Outcome(
                text: text + result.standardError,
                wasHidden: text.contains(#""hidden": true"#),
                isRestored: text.contains(#"\"echo\": true"#) && !text.contains(#"\"echo\": false"#),
                stops: text.split(separator: "STOPPED").count - 1,
                leavesInput: !text.contains(#"\"left\": false"#),
                status: text.firstMatch(of: /RESULT {\\"status\\": (-?\d+)/).flatMap { Int32($0.1) } ?? -99
            )
        }

        @Test func `a password is typed unseen and used`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let outcome = try await type(#"alice-password\r"#, scene)
            #expect(outcome.status == 0, "\(outcome.text)")
            #expect(outcome.wasHidden && outcome.isRestored)
            #expect(!outcome.text.contains("alice-password"))
            #expect(try await scene.token().isEmpty == false)
        }

        @Test func `of a secret pasted with more lines nothing is left for the shell`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let outcome = try await type(#"alice-password\rthe rest of it\rand more"#, scene)
            #expect(outcome.status == 0, "\(outcome.text)")
            #expect(outcome.wasHidden && outcome.isRestored)
            #expect(!outcome.leavesInput, "\(outcome.text)")
            #expect(!outcome.text.contains("alice-password") && !outcome.text.contains("the rest"))
        }

        /// Keys, and the exit status, negative for a signal.
        @Test(arguments: [(#"ali\x03"#, [-2, 130]), (#"\x04"#, [1, 2, 8]), (#"ali\x1c"#, [-3, 131])])
        func `leaving the prompt puts the terminal back`(keys: String, statuses: [Int32]) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let outcome = try await type(keys, scene)
            #expect(statuses.contains(outcome.status), "\(outcome.text)")
            #expect(outcome.wasHidden && outcome.isRestored, "\(outcome.text)")
            #expect(scene.issuer.requests(to: "/token").isEmpty)
        }

        @Test func `a stop at the prompt shows the terminal as it was, and the question comes again`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            let outcome = try await type(#"half\x1a|alice-password\r"#, scene)
            #expect(outcome.stops == 1, "\(outcome.text)")
            #expect(outcome.status == 0, "\(outcome.text)")
            #expect(outcome.wasHidden && outcome.isRestored, "\(outcome.text)")
            #expect(!outcome.text.contains("alice-password"))
        }
    }
}
