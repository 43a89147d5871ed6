// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import AgentServer

struct WakeTimeQueueTests {
    @Test func `sessions come out when they are due, soonest first`() throws {
        var queue = WakeTimeQueue<SessionName, Instant>()
        var plans: [SessionName: Instant] = [:]
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let name = try #require(SessionName("s\(Int.random(in: 0..<500, using: &random))"))
            let time = Bool.random() ? Instant.seconds(Int64.random(in: 0..<1_000, using: &random)) : nil
            queue.plan(name, at: time)
            plans[name] = time
        }
        #expect(queue.next == plans.values.min())
        for now in stride(from: Int64(0), through: 1_000, by: 50) {
            let due = queue.takeDue(at: .seconds(now))
            let times = due.compactMap { plans[$0] }
            #expect(times == times.sorted())
            #expect(Set(due) == Set(plans.filter { $0.value <= .seconds(now) }.keys))
            for name in due { plans[name] = nil }
        }
        #expect(queue.next == nil)
    }

    @Test func `a changed plan replaces the old one`() throws {
        var queue = WakeTimeQueue<SessionName, Instant>()
        let name = try #require(SessionName("a"))
        queue.plan(name, at: .seconds(5))
        queue.plan(name, at: .seconds(50))
        #expect(queue.takeDue(at: .seconds(10)).isEmpty)
        #expect(queue.next == .seconds(50))
        queue.plan(name, at: nil)
        #expect(queue.next == nil)
    }
}
