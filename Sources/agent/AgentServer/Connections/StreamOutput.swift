// SPDX-License-Identifier: MIT

import NIOCore

/// The part of an endless response that the peer has not read.
///
/// The socket has one piece at a time, and the rest waits here in one buffer. So the bytes counted equal the
/// memory used, however short the lines are.
struct StreamOutput {
    /// The maximum number of bytes passed to the socket at once; few enough that requests are still read
    /// meanwhile.
    private static let piece = 65_536

    private var waiting = ByteBuffer()
    private var underWay = 0
    /// The action once the peer has read everything.
    private var onTaken: (() -> Void)?

    /// The number of bytes that the peer has not read.
    var unread: Int { waiting.readableBytes + underWay }

    /// Whether the socket is sending a piece.
    var hasPieceUnderWay: Bool { underWay > 0 }

    /// Adds the bytes that `write` appends; `onTaken`, if given, replaces the previous action.
    mutating func append(_ onTaken: (() -> Void)? = nil, _ write: (inout ByteBuffer) -> Void) {
        write(&waiting)
        if let onTaken { self.onTaken = onTaken }
    }

    /// Removes the next piece for the socket.
    ///
    /// - Returns: `nil` while the socket is sending a piece, or if no bytes wait.
    mutating func next() -> ByteBuffer? {
        guard underWay == 0, waiting.readableBytes > 0 else { return nil }
        let piece = waiting.readSlice(length: min(Self.piece, waiting.readableBytes))
        underWay = piece?.readableBytes ?? 0
        if waiting.readableBytes == 0 { waiting = ByteBuffer() } else { waiting.discardReadBytes() }
        return piece
    }

    /// Records that the socket has sent its piece.
    ///
    /// - Returns: The action to call, if no bytes are left.
    mutating func pieceTaken() -> (() -> Void)? {
        underWay = 0
        return waiting.readableBytes == 0 ? onTaken.take() : nil
    }

    /// Removes all waiting bytes, to be sent even while the socket is sending a piece.
    mutating func takeAll() -> ByteBuffer {
        defer { waiting = ByteBuffer() }
        return waiting
    }
}

/// The unread bytes of all endless responses, limited in total so that many connections cannot evade the
/// limit of one.
///
/// Confined to the agent's event loop.
final class StreamBacklogLimiter {
    /// The maximum number of unread bytes of one endless response.
    static let maximumUnread = 1 << 20
    /// The maximum number of unread bytes of all endless responses.
    private static let maximumTotal = 16 << 20

    private var streams: [ObjectIdentifier: (connection: Connection, unread: Int)] = [:]
    private var total = 0

    /// Records the number of unread bytes of `connection`.
    ///
    /// - Returns: The connections to drop: this one, or those with the most unread bytes.
    func update(_ connection: Connection, unread: Int) -> [Connection] {
        set(connection, unread)
        var dropped: [Connection] = []
        if unread > Self.maximumUnread {
            dropped.append(connection)
            set(connection, 0)
        }
        while total > Self.maximumTotal, let most = streams.values.max(by: { $0.unread < $1.unread }) {
            dropped.append(most.connection)
            set(most.connection, 0)
        }
        return dropped
    }

    private func set(_ connection: Connection, _ unread: Int) {
        let id = ObjectIdentifier(connection)
        total += unread - (streams[id]?.unread ?? 0)
        streams[id] = unread == 0 ? nil : (connection, unread)
    }
}
