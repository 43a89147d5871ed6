// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import TestSupport
import Testing

@testable import AgentServer

/// When the kernel's routing messages are taken for a network that is back.
@Suite(.timeLimit(.minutes(1)))
struct NetworkMonitorTests {
    /// A message that says nothing but its type.
    private func message(_ type: UInt16) -> [UInt8] {
        [16, 0, 0, 0] + withUnsafeBytes(of: type, Array.init) + [UInt8](repeating: 0, count: 10)
    }

    @Test func `the messages of one change are told of at once, and once more when they have come to an end`()
        throws
    {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, &ends) == 0)
        defer { close(ends[1]) }
        let clock = LoopClock()
        let loop = try AgentLoop { clock.now }
        var count = 0
        let watch = NetworkMonitor(ends[0], on: loop) { count += 1 }
        func hear(_ type: Int) {
            let bytes = message(UInt16(type))
            #expect(send(ends[1], bytes, bytes.count, 0) == bytes.count)
            watch.ready(.readable)
        }
        // RTM_DELADDR, RTM_NEWADDR, RTM_NEWROUTE.
        hear(21)
        #expect(count == 0)
        hear(20)
        #expect(count == 1)
        for _ in 0..<10 { hear(24) }
        #expect(count == 1)
        clock.advance(by: NetworkMonitor.row)
        loop.turn()
        #expect(count == 2)
        clock.advance(by: NetworkMonitor.row)
        loop.turn()
        #expect(count == 2)
        hear(24)
        #expect(count == 3)
    }
}
