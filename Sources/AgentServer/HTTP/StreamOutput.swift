// SPDX-License-Identifier: MIT

import NIOCore

/// What of an endless answer the peer has not taken.
///
/// One piece at a time is with the channel, the rest waits here in one buffer: so what is counted is what it costs,
/// however short the lines are.
struct StreamOutput {
    /// Most bytes handed to the channel together; the channel never has so much that it counts as not writable.
    private static let piece = 65_536

    private var waiting = ByteBuffer()
    private var underWay = 0
    /// Is called once when the peer has taken everything.
    private var onTaken: (() -> Void)?

    /// Bytes the peer has not taken.
    var unread: Int { waiting.readableBytes + underWay }

    /// Adds what `write` appends; a call for when it is taken replaces the one before.
    mutating func append(_ onTaken: (() -> Void)? = nil, _ write: (inout ByteBuffer) -> Void) {
        write(&waiting)
        if let onTaken { self.onTaken = onTaken }
    }

    /// The next piece for the channel; `nil` while it has one, or when there is none.
    mutating func next() -> ByteBuffer? {
        guard underWay == 0, waiting.readableBytes > 0 else { return nil }
        let piece = waiting.readSlice(length: min(Self.piece, waiting.readableBytes))
        underWay = piece?.readableBytes ?? 0
        if waiting.readableBytes == 0 { waiting = ByteBuffer() } else { waiting.discardReadBytes() }
        return piece
    }

    /// The channel has written its piece.
    /// - Returns: whom to call, now that there is nothing left.
    mutating func pieceTaken() -> (() -> Void)? {
        underWay = 0
        return waiting.readableBytes == 0 ? onTaken.take() : nil
    }

    /// Everything that still waits, to be written whatever the channel has.
    mutating func takeAll() -> ByteBuffer {
        defer { waiting = ByteBuffer() }
        return waiting
    }
}

/// What all endless answers together have unread, so that many connections are no way around the bound of one.
///
/// Confined to the event loop.
final class StreamBacklog {
    /// Bytes that one endless answer may leave unread.
    static let mostUnread = 1 << 20
    /// Bytes that all may leave unread together: of the machine's memory, not of one connection's.
    private static let mostInAll = 16 << 20

    private var streams: [ObjectIdentifier: (connection: Connection, unread: Int)] = [:]
    private var total = 0

    /// Takes down what `connection` has unread now.
    /// - Returns: the connections that have to go for it: itself, or those with the most unread.
    func update(_ connection: Connection, unread: Int) -> [Connection] {
        set(connection, unread)
        var dropped: [Connection] = []
        if unread > Self.mostUnread {
            dropped.append(connection)
            set(connection, 0)
        }
        while total > Self.mostInAll, let most = streams.values.max(by: { $0.unread < $1.unread }) {
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
