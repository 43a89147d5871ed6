// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing

extension EndToEnd {
    @Suite(.enabled(if: TestUser.isRoot, "only root may change the limits of another process"))
    struct DescriptorTests {
        private func limit(_ agent: Int32, to count: Int) async throws {
            let result = try await Program.run(
                ["prlimit", "--pid=\(agent)", "--nofile=\(count):"],
                environment: ["PATH": "/usr/bin:/bin"]
            )
            try #require(result.status == 0, "\(result)")
        }

        /// Hundredths of a second that the process has used of the processors, from `/proc/PID/stat`.
        private func used(by process: Int32) throws -> Int {
            let text = try #require(File.text("/proc/\(process)/stat"))
            let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
            return try fields[11...12].map { try #require(Int($0)) }.reduce(0, +)
        }

        @Test(.holds("14")) func `when descriptors run out the agent serves on and recovers`() async throws {
            let scene = try await Scene.loggedIn()
            let agent = try #require(SocketOwner.pid(scene.agent.socketPath))
            var kept = try AgentConnection(socket: scene.agent.socketPath)
            // Answered after the agent has taken the connection above.
            _ = try await scene.agent.status("work")
            let open = Set(File.names(in: "/proc/\(agent)/fd").compactMap { Int($0) })
            let free = try #require((0...).first { !open.contains($0) })
            try await limit(agent, to: free)
            let socket = scene.agent.socket
            let late = (0..<100).map { _ in
                Task { try await socket.request("GET", "/v1", within: .seconds(60)).status }
            }
            let before = try used(by: agent)
            try await Task.sleep(for: .seconds(1))
            // A loop that spins takes all of the second.
            let spent = try used(by: agent) - before
            #expect(spent < 5)
            #expect(try kept.exchange(AgentRequest(.get), timeout: .seconds(10)).status == 200)
            try await limit(agent, to: 1024)
            let start = ContinuousClock.now
            for peer in late { #expect(try await peer.value == 200) }
            let waited = ContinuousClock.now - start
            Attachment.record("\(spent) % of a processor, 100 accepted \(waited) later", named: "figure")
        }
    }
}
