// SPDX-License-Identifier: MIT

/// The kind of a frame between the agent and the guard of one exchange.
///
/// On the wire: kind (1), count of the bytes that follow (4, big-endian), those bytes. Both ends are of one release.
package enum GuardFrame: UInt8, Sendable {
    /// To the guard, first and once, with descriptors: the connection and, if the answer is kept, its file. ``GuardHandoverMessage``.
    case order = 1
    /// To the guard: bytes for the server.
    case outgoing = 2
    /// To the guard, once: ``GuardArming``. What follows is the request.
    case arming = 3
    /// To the guard: the request is complete.
    case whole = 4
    /// To the guard: the agent has the answer. An end without this is the agent's death.
    case done = 5
    /// To the agent: bytes of the server, which are in the file already.
    case incoming = 6
    /// To the agent: from here on the server may have seen a part of the request.
    case sending = 7

    /// Bytes of kind and count.
    package static let headCount = 5
    /// Most bytes of one frame after its head: four records of TLS.
    package static let limit = 64 << 10

    /// The head of a frame with `count` bytes.
    package func head(_ count: Int) -> [UInt8] {
        let length = UInt32(clamping: count)
        return [rawValue] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
    }

    /// Reads a head; `nil`: our other end does not write this.
    package init?(head: some Collection<UInt8>, count: inout Int) {
        guard head.count == GuardFrame.headCount, let first = head.first,
            let kind = GuardFrame(rawValue: first)
        else { return nil }
        let length = head.dropFirst().reduce(0) { $0 << 8 | Int($1) }
        guard length <= GuardFrame.limit else { return nil }
        count = length
        self = kind
    }
}

/// The first message to a guard.
///
/// On the wire: ``end`` (8, big-endian).
package struct GuardHandoverMessage: Equatable, Sendable {
    /// The latest time at which the guard is killed, in nanoseconds of the boot-time clock.
    package var end: Int64

    package init(end: Int64) {
        self.end = end
    }

    package var frame: [UInt8] { GuardFrame.order.head(8) + end.bigEndianBytes }

    package init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count == 8 else { return nil }
        end = Int64(bigEndian: bytes)
    }
}

/// The moments that the request must not be later than, and what stands at the beginning of the answer's file.
///
/// On the wire: ``sendBefore`` and ``arriveBefore`` (8 each, big-endian), ``head`` to the end.
package struct GuardArming: Equatable, Sendable {
    /// From here on the request is not sent any more; in nanoseconds of the boot-time clock.
    package var sendBefore: Int64
    /// The connection is reset here if a part of the request is not acknowledged; in nanoseconds of the same clock.
    package var arriveBefore: Int64
    /// At most ``ResponseRecordingLayout/headRoom`` bytes.
    package var head: [UInt8]

    package init(sendBefore: Int64, arriveBefore: Int64, head: [UInt8]) {
        self.sendBefore = sendBefore
        self.arriveBefore = arriveBefore
        self.head = head
    }

    package var frame: [UInt8] {
        GuardFrame.arming.head(16 + head.count) + sendBefore.bigEndianBytes + arriveBefore.bigEndianBytes
            + head
    }

    package init?(_ bytes: ArraySlice<UInt8>) {
        guard (16...16 + ResponseRecordingLayout.headRoom).contains(bytes.count) else { return nil }
        sendBefore = Int64(bigEndian: bytes.prefix(8))
        arriveBefore = Int64(bigEndian: bytes.dropFirst(8).prefix(8))
        head = Array(bytes.dropFirst(16))
    }
}

/// The layout of the file that stores a response.
package enum ResponseRecordingLayout {
    /// Bytes for what says how to read the rest; the server's bytes begin after it.
    package static let headRoom = 4096
    /// Bytes of the server that are kept: an answer has at most 1 MiB and 64 KiB of header, and TLS adds a handshake, a
    /// hundredth to large records and more to tiny ones.
    static let maximumRecorded = 2 << 20
}

extension Int64 {
    fileprivate var bigEndianBytes: [UInt8] {
        let bits = UInt64(bitPattern: self)
        return stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bits >> UInt64($0)) }
    }

    fileprivate init(bigEndian bytes: ArraySlice<UInt8>) {
        self = Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }
}
