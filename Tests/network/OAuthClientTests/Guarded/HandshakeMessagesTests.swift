// SPDX-License-Identifier: MIT

import Testing

@testable import OAuthClient

/// Messages of a handshake, however records cut them.
struct HandshakeMessagesTests {
    private static let ticket: [UInt8] = [4, 0, 0, 3, 24, 0, 0]
    private static let update: [UInt8] = [24, 0, 0, 1, 0]

    @Test(arguments: [1, 2, 3, 5, 12]) func `they are the same in records of any size`(size: Int) {
        var messages = HandshakeMessages()
        var found: [HandshakeMessages.Message] = []
        let bytes = Self.ticket + Self.update
        for start in stride(from: 0, to: bytes.count, by: size) {
            messages.add(bytes[start..<min(start + size, bytes.count)])
            while let message = messages.next() { found.append(message) }
        }
        #expect(found.map(\.kind) == [4, 24])
        #expect(found.map(\.content) == [[24, 0, 0], [0]])
        #expect(!messages.isWithin)
    }

    @Test func `one that has begun is none`() {
        var messages = HandshakeMessages()
        messages.add(Self.ticket.dropLast())
        #expect(messages.next() == nil && messages.isWithin)
    }
}
