// SPDX-License-Identifier: MIT

import NIOCore

/// The part of an endless answer that the peer has not taken.
///
/// One piece at a time is with the socket, the rest waits here in one buffer. So the bytes counted are the
/// memory it costs, however short the lines are.
struct StreamOutput {
    /// Most bytes handed to the socket together; few enough that requests would still be read.
    private static let piece = 65_536

    private var waiting = ByteBuffer()
    private var underWay = 0
    /// Called once, when the peer has taken everything.
    private var onTaken: (() -> Void)?

    /// Bytes the peer has not taken.
    var unread: Int { waiting.readableBytes + underWay }

    /// Whether the socket has a piece.
    var hasPieceUnderWay: Bool { underWay > 0 }

    /// Adds what `write` appends; a given `onTaken` replaces the one before.
    mutating func append(_ onTaken: (() -> Void)? = nil, _ write: (inout ByteBuffer) -> Void) {
        write(&waiting)
        if let onTaken { self.onTaken = onTaken }
    }

    /// The next piece for the socket; `nil` while the socket has one, or if nothing waits.
    mutating func next() -> ByteBuffer? {
        guard underWay == 0, waiting.readableBytes > 0 else { return nil }
        let piece = waiting.readSlice(length: min(Self.piece, waiting.readableBytes))
        underWay = piece?.readableBytes ?? 0
        if waiting.readableBytes == 0 { waiting = ByteBuffer() } else { waiting.discardReadBytes() }
        return piece
    }

    /// Notes that the socket has sent its piece.
    /// - Returns: what to call, if nothing is left.
    mutating func pieceTaken() -> (() -> Void)? {
        underWay = 0
        return waiting.readableBytes == 0 ? onTaken.take() : nil
    }

    /// Takes everything that still waits, to be sent even while the socket has a piece.
    mutating func takeAll() -> ByteBuffer {
        defer { waiting = ByteBuffer() }
        return waiting
    }
}

/// What all endless answers together have unread: many connections must not evade the bound of one.
///
/// Confined to the event loop.
final class StreamBacklog {
    /// Bytes that one endless answer may leave unread.
    static let mostUnread = 1 << 20
    /// Bytes that all endless answers together may leave unread.
    private static let mostInAll = 16 << 20

    private var streams: [ObjectIdentifier: (connection: Connection, unread: Int)] = [:]
    private var total = 0

    /// Notes what `connection` has unread now.
    /// - Returns: the connections to drop: this one, or those with the most unread.
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
