// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Process numbers that are used again.
    ///
    /// A new process must not get the rights of the previous one.
    @Suite struct ProcessNumberTests {
        /// A namespace of its own lets the test choose the number of the next process.
        private static let canChooseNumbers = Program.succeeds(
            "unshare --pid --fork --mount-proc sh -c 'echo 300 >/proc/sys/kernel/ns_last_pid'"
        )

        /// Runs as the first process of the namespace, with the agent beside it.
        ///
        /// In each round, an allowed client connects and ends, and its child, another program, keeps the connection. A
        /// new allowed process then gets the client's number and waits. In every second round the agent is stopped
        /// meanwhile, so that it accepts the connection only afterwards.
        private static let script = #"""
            import os, signal, socket, subprocess, sys, time
            path, rounds = sys.argv[1], int(sys.argv[2])
            request = "GET /v1/sessions/work/token HTTP/1.1\\r\\nHost: tokenagent\\r\\nConnection: close\\r\\n\\r\\n"
            agent = subprocess.Popen(["tokenagent", "--foreground"])

            def connect():
                s = socket.socket(socket.AF_UNIX); s.connect(path); return s

            def connected():
                while agent.poll() is None:
                    try: return connect()
                    except OSError: time.sleep(0.01)
                sys.exit("the agent ended")

            def waiting_as(number):
                for _ in range(200):
                    with open("/proc/sys/kernel/ns_last_pid", "w") as file: file.write(str(number - 1))
                    pid = os.fork()
                    if pid == 0:
                        while True: signal.pause()
                    if pid == number: return pid
                    os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)

            s = connected()
            s.sendall(request.encode().decode("unicode_escape").encode())
            print("own", s.makefile("rb").readline().split()[1].decode(), flush=True)
            try: has_descriptors = s.getsockopt(socket.SOL_SOCKET, 77, 4)
            except OSError: has_descriptors = None
            for round in range(rounds):
                holds = has_descriptors is not None and round % 2 == 1
                if holds: os.kill(agent.pid, signal.SIGSTOP)
                go, out = os.pipe(), os.pipe()
                client = os.fork()
                if client == 0:
                    s = connect()
                    if os.fork() != 0: os._exit(0)
                    for own, number in ((go[0], 0), (out[1], 1), (s.fileno(), 9)):
                        os.dup2(own, number); os.set_inheritable(number, True)
                    os.execv("/bin/sh", ["sh", "-c", 'read go; printf "$0" >&9; read v c rest <&9; echo $c', request])
                os.waitpid(client, 0)
                double = waiting_as(client)
                os.write(go[1], b"\n")
                if holds:
                    os.kill(agent.pid, signal.SIGCONT)
                code = os.read(out[0], 100).decode().strip()
                print("used" if double else "free", "held" if holds else "accepted", code, flush=True)
                if double: os.kill(double, signal.SIGKILL)
                for end in go + out: os.close(end)
                try:
                    while os.waitpid(-1, os.WNOHANG)[0]: pass
                except ChildProcessError: pass
            """#

        @Test(.holds("5"), .enabled(if: canChooseNumbers, "only root can make a namespace of processes"))
        func `who has the number of a process that has gone is not taken for it`() async throws {
            let python = try await Program.run(
                ["sh", "-c", "python3 -c 'import os; print(os.readlink(\"/proc/self/exe\"))'"],
                environment: ["PATH": TestEnvironment.searchPath]
            )
            let scene = try await Scene(session: "allow = [{ exe = \"\(python.line)\" }]")
            let rounds = TestEnvironment.isFull ? 1_000 : 20
            let result = try await Program.run(
                [
                    "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", python.line, "-c",
                    Self.script,
                ]
                    + [scene.agent.socketPath, "\(rounds)"],
                environment: scene.agent.environment,
                within: .seconds(300)
            )
            #expect(result.status == 0, "\(result.standardError)")
            let lines = result.standardOutput.split(separator: "\n").map(String.init)
            // Not logged in, which is told to the program the session is for.
            #expect(lines.first == "own 401")
            let reused = lines.filter { $0.hasPrefix("used ") }
            #expect(lines.count == rounds + 1 && reused.count > rounds / 2, "\(result.standardError)")
            let wrong = lines.dropFirst().filter { !$0.hasSuffix(" 404") }
            #expect(wrong.isEmpty, "\(wrong)")
            Attachment.record(
                "\(rounds) connections, \(reused.count) numbers used again, \(wrong.count) taken for their last holder",
                named: "figure"
            )
        }
    }
}
