// SPDX-License-Identifier: MIT

import TestSupport
import Testing

private let isMissing: Comment = "needs root, to make a network of its own"

extension EndToEnd {
    /// The network goes and comes back.
    @Suite(.full, .enabled(if: NetworkScene.isAvailable, isMissing)) struct NetworkOutageTests {
        /// Ten times what is promised, for a slow machine; without the kernel's word it takes longer still.
        private static let limit = Duration.seconds(20)

        /// The most attempts that fit into `outage`: one at once, then pauses of at least 1, 2, 4, … seconds.
        private func scheduled(in outage: Duration) -> Int64 {
            var count: Int64 = 1
            var next = Duration.seconds(1)
            var delay = Duration.seconds(1)
            while next <= outage {
                count += 1
                delay *= 2
                next += delay
            }
            return count
        }

        @Test func `after an outage of three pauses the token is fresh at once`() async throws {
            let scene = try await NetworkScene()
            let old = try await scene.agent.tokenctl("get", "work").line
            try await scene.turn("down")
            let start = ContinuousClock.now
            let waiting = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(try await Polling.until(within: .seconds(120)) { try await scene.failures() >= 3 })
            #expect(try await scene.agent.reaches("retrying", "work"))
            // The current token is still served.
            #expect(try await scene.agent.tokenctl("get", "work").line == old)
            let failures = try await scene.failures()
            let outage = ContinuousClock.now - start
            try await scene.turn("up")
            let back = ContinuousClock.now
            let result = try await waiting.finish(within: Self.limit)
            let wait = ContinuousClock.now - back
            Attachment.record(
                "network away for \(outage), \(failures) attempts, fresh \(wait) after its return",
                named: "figure"
            )
            #expect(result.status == 0, "\(result.standardError)")
            #expect(failures <= scheduled(in: outage))
            #expect(try await scene.agent.tokenctl("get", "work").line != old)
            #expect(try await scene.agent.status("work")["state"]?.string == "ready")
            #expect(try await scene.refreshes() == 1)
        }

        @Test func `a connection that hangs when the network returns is begun anew`() async throws {
            let scene = try await NetworkScene()
            try await scene.turn("down")
            let waiting = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(try await scene.agent.reaches("refreshing", "work"))
            // Its second packet goes out after one second, the third would after three.
            try await scene.passes(.milliseconds(1200))
            try #require(try await scene.failures() == 0)
            try await scene.turn("up")
            let back = ContinuousClock.now
            let result = try await waiting.finish(within: Self.limit)
            Attachment.record("fresh \(ContinuousClock.now - back) after its return", named: "figure")
            #expect(result.status == 0, "\(result.standardError)")
            #expect(try await scene.failures() == 0)
            #expect(try await scene.refreshes() == 1)
        }
    }
}
