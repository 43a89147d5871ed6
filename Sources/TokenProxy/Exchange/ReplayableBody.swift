// SPDX-License-Identifier: MIT

import NIOCore

/// The body of a request as far as it was sent, so that the request can be repeated.
struct ReplayableBody {
    /// Most bytes that are kept; a longer body is sent once.
    private static let longest = 1 << 20

    /// A copy: a small piece of what was read would keep all of it.
    private(set) var bytes = ByteBuffer()
    /// Whether all that was sent is still here.
    private(set) var isWhole = true

    mutating func add(_ data: ByteBuffer) {
        guard isWhole else { return }
        guard bytes.readableBytes + data.readableBytes <= ReplayableBody.longest else { return discard() }
        bytes.writeImmutableBuffer(data)
    }

    /// Forgets it: the request will not be repeated.
    mutating func discard() {
        isWhole = false
        bytes = ByteBuffer()
    }
}
