// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Clients that are killed while the agent answers them.
    @Suite struct PeerDeathTests {
        /// Starts clients that ask again and again, and kills each after at most three milliseconds.
        private static let script = """
            import os, random, signal, socket, sys, time
            path, count = sys.argv[1], int(sys.argv[2])
            requests = [b"GET /v1/sessions/work/token HTTP/1.1\\r\\nHost: tokenagent\\r\\n\\r\\n",
                b"GET /v1/events HTTP/1.1\\r\\nHost: tokenagent\\r\\n\\r\\n"]
            for number in range(count):
                pid = os.fork()
                if pid == 0:
                    s = socket.socket(socket.AF_UNIX); s.connect(path)
                    while True:
                        s.sendall(requests[number % 2])
                        if not s.recv(65536): os._exit(0)
                time.sleep(random.uniform(0, 0.003))
                os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
            """

        @Test(.holds("13")) func `clients killed at any moment leave nothing behind`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let pid = try #require(scene.agent.agent?.pid)
            let descriptors = { @Sendable in File.names(in: "/proc/\(pid)/fd").count }
            #expect(try await Polling.until { descriptors() <= 40 })
            let before = descriptors()
            let count = TestEnvironment.isFull ? 5_000 : 200
            let result = try await Program.run(
                ["python3", "-c", Self.script, scene.agent.socketPath, "\(count)"],
                environment: ["PATH": TestEnvironment.searchPath],
                within: .seconds(300)
            )
            #expect(result.status == 0, "\(result.standardError)")
            #expect(scene.agent.agent?.exitStatus == nil)
            #expect(try await scene.token() == token)
            // The connection of the last question may still be there, and nothing else.
            #expect(try await Polling.until { descriptors() <= before })
            Attachment.record(
                "\(count) clients killed, \(descriptors()) descriptors of \(before)",
                named: "figure"
            )
        }
    }
}
