// SPDX-License-Identifier: MIT

/// Cuts handshake messages out of the records that carry them: one record may hold several, and a message may go over
/// several records (RFC 8446 §5.1).
struct HandshakeMessages {
    struct Message: Equatable {
        /// RFC 8446 §4.
        var kind: UInt8
        var content: [UInt8]
    }

    /// Bytes before a message's content: kind, length.
    private static let headCount = 4

    private var rest: [UInt8] = []

    /// A message has begun and is not whole.
    var isWithin: Bool { !rest.isEmpty }

    mutating func add(_ content: ArraySlice<UInt8>) { rest += content }

    /// The next message; `nil`: none is whole.
    mutating func next() -> Message? {
        guard rest.count >= HandshakeMessages.headCount else { return nil }
        let end = HandshakeMessages.headCount + (Int(rest[1]) << 16 | Int(rest[2]) << 8 | Int(rest[3]))
        guard rest.count >= end else { return nil }
        defer { rest.removeFirst(end) }
        return Message(kind: rest[0], content: Array(rest[HandshakeMessages.headCount..<end]))
    }
}
