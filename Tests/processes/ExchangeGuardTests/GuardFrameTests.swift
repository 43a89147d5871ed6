// SPDX-License-Identifier: MIT

import Testing

@testable import ExchangeGuard

struct GuardFrameTests {
    @Test func `what is written is read`() throws {
        let arming = GuardArming(sendBefore: 1 << 40 | 7, arriveBefore: 1 << 41 | 9, head: Array("head".utf8))
        #expect(GuardArming(arming.frame.dropFirst(GuardFrame.headCount)) == arming)
        let order = GuardHandoverMessage(end: .max)
        #expect(GuardHandoverMessage(order.frame.dropFirst(GuardFrame.headCount)) == order)
        var count = 0
        #expect(GuardFrame(head: arming.frame.prefix(GuardFrame.headCount), count: &count) == .arming)
        #expect(count == 20)
    }

    @Test(arguments: [[0, 0, 0, 0, 0], [8, 0, 0, 0, 0], [2, 0, 1, 0, 1], [2, 0, 0, 0]] as [[UInt8]])
    func `another head is none`(head: [UInt8]) {
        var count = 0
        #expect(GuardFrame(head: head, count: &count) == nil)
    }

    @Test func `a head for the file that has no room there is refused`() {
        let head = [UInt8](repeating: 1, count: ResponseRecordingLayout.headRoom + 1)
        let arming = GuardArming(sendBefore: 1, arriveBefore: 1, head: head)
        #expect(GuardArming(arming.frame.dropFirst(GuardFrame.headCount)) == nil)
    }
}
