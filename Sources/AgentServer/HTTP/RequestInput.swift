// SPDX-License-Identifier: MIT

import NIOCore

/// The bytes that a peer has sent and that are not parsed yet; requests are taken out of them.
struct RequestInput {
    private var parser: RequestParser
    private var bytes = ByteBuffer()

    init(limits: RequestLimits) {
        parser = RequestParser(limits: limits)
    }

    /// How many bytes are here.
    var count: Int { bytes.readableBytes }

    /// Whether part of a request has been read and the rest is not here.
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
