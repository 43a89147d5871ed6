// SPDX-License-Identifier: MIT

import NIOCore

/// What a peer has sent and nobody has read: bytes, out of which requests are taken.
struct RequestInput {
    private var parser: RequestParser
    private var bytes = ByteBuffer()

    init(limits: RequestLimits) {
        parser = RequestParser(limits: limits)
    }

    /// Bytes that are here.
    var count: Int { bytes.readableBytes }

    /// Part of a request has been read, and the rest is not here.
    var hasPartOfRequest: Bool { count > 0 || parser.isInsideRequest }

    mutating func add(_ more: consuming ByteBuffer) {
        if count == 0 { bytes = more } else { bytes.writeBuffer(&more) }
    }

    /// Takes the next request, if all of it is here.
    mutating func next() throws(RequestRefusal) -> RequestParser.Step {
        try parser.next(from: &bytes)
    }

    /// Throws away what is here, and its memory.
    mutating func clear() {
        bytes = ByteBuffer()
    }
}
