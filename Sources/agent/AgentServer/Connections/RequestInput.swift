// SPDX-License-Identifier: MIT

import NIOCore

/// The bytes that a peer has sent and that have not been parsed yet.
///
/// Nearly always, complete requests arrive and are parsed in the shared buffer. Only the rest of an
/// incomplete request gets a separate buffer.
struct RequestInput {
    /// The number of bytes read at once after part of a request has arrived.
    static let piece = 4_096

    private var parser: RequestParser
    private var bytes = ByteBuffer()
    /// The number of bytes written to the shared buffer, or `nil` if `bytes` is not the shared buffer.
    private var borrowed: Int?

    init(limits: RequestLimits) {
        parser = RequestParser(limits: limits)
    }

    /// The number of bytes that have not been parsed.
    var count: Int { bytes.readableBytes }

    /// Whether a request has only partly arrived.
    var hasPartOfRequest: Bool { count > 0 || parser.isInsideRequest }

    /// Reads the available bytes of `socket`; requires ``settle(_:)`` before another connection reads.
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

    /// Returns the shared buffer, and copies unparsed bytes to a separate one.
    mutating func settle(_ shared: SharedBuffer) {
        guard let written = borrowed else {
            if count == 0 { bytes = ByteBuffer() }
            return
        }
        let used = bytes
        bytes = count == 0 ? ByteBuffer() : ByteBuffer(bytes: used.readableBytesView)
        borrowed = nil
        shared.release(used, written: written)
    }

    /// Removes the next request, if it is complete.
    ///
    /// - Throws: ``RequestError`` if the request is malformed or too long.
    mutating func next() throws(RequestError) -> RequestParser.StepResult {
        try parser.next(from: &bytes)
    }

    /// Discards the bytes that have not been parsed.
    mutating func clear() {
        bytes.moveReaderIndex(to: bytes.writerIndex)
    }
}
