// SPDX-License-Identifier: MIT

import NIOCore

/// The bytes that a peer has sent and that are not parsed yet; requests are taken out of them.
///
/// Nearly always whole requests come, and are parsed in the shared buffer. Only what is left of it gets memory of its own.
struct RequestInput {
    /// Bytes read together once part of a request is here.
    static let piece = 4_096

    private var parser: RequestParser
    private var bytes = ByteBuffer()
    /// How much of the shared buffer has been written, if `bytes` is that one.
    private var borrowed: Int?

    init(limits: RequestLimits) {
        parser = RequestParser(limits: limits)
    }

    /// How many bytes are here.
    var count: Int { bytes.readableBytes }

    /// Whether part of a request has been read and the rest is not here.
    var hasPartOfRequest: Bool { count > 0 || parser.isInsideRequest }

    /// Reads what `socket` has; ``settle(_:)`` follows before another connection reads.
    mutating func read(from socket: borrowing PeerSocket, through shared: SharedBuffer) -> PeerSocket.Reading
    {
        if count == 0, borrowed == nil {
            bytes = shared.take()
            borrowed = 0
        } else {
            bytes.discardReadBytes()
            bytes.reserveCapacity(minimumWritableBytes: Self.piece)
        }
        defer { borrowed = borrowed.map { max($0, bytes.writerIndex) } }
        return socket.read(into: &bytes)
    }

    /// Gives the shared buffer back.
    mutating func settle(_ shared: SharedBuffer) {
        guard let written = borrowed else {
            if count == 0 { bytes = ByteBuffer() }
            return
        }
        let used = bytes
        bytes = count == 0 ? ByteBuffer() : ByteBuffer(bytes: used.readableBytesView)
        borrowed = nil
        shared.giveBack(used, written: written)
    }

    /// Takes the next request, if all of it is here.
    mutating func next() throws(RequestError) -> RequestParser.Step {
        try parser.next(from: &bytes)
    }

    /// Throws away what is here.
    mutating func clear() {
        bytes.moveReaderIndex(to: bytes.writerIndex)
    }
}
