// SPDX-License-Identifier: MIT

import NIOCore
import Synchronization
import Text

/// The JSON body of a request, which records whether it may have been sent.
///
/// Without the body, etcd cannot have done anything.
final class TrackedRequestBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private let buffer: ByteBuffer
    private let taken = Atomic(false)

    init(_ body: JSONObject) {
        buffer = ByteBuffer(bytes: JSONValue.object(body).serialized)
    }

    var count: Int { buffer.readableBytes }

    /// Whether the HTTP library has connected and taken the bytes, so that they may have been sent.
    var wasTaken: Bool { taken.load(ordering: .acquiring) }

    func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let body: TrackedRequestBody

        mutating func next() async -> ByteBuffer? {
            body.taken.exchange(true, ordering: .acquiringAndReleasing) ? nil : body.buffer
        }
    }
}
