// SPDX-License-Identifier: MIT

import NIOCore

/// The part of a request's body sent so far, kept so that the request can be sent again.
struct ReplayableBody {
    /// The maximum number of bytes kept.
    ///
    /// A request with a longer body is sent only once.
    private static let longest = 1 << 20

    /// The bytes, as a copy: a small slice would keep the whole input buffer in memory.
    private(set) var bytes = ByteBuffer()
    /// Whether all bytes sent are still here.
    private(set) var isWhole = true

    mutating func add(_ data: ByteBuffer) {
        guard isWhole else { return }
        guard bytes.readableBytes + data.readableBytes <= ReplayableBody.longest else { return discard() }
        bytes.writeImmutableBuffer(data)
    }

    /// Discards the bytes.
    ///
    /// The request is not sent again.
    mutating func discard() {
        isWhole = false
        bytes = ByteBuffer()
    }
}
