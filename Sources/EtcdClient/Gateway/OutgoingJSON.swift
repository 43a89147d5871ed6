// SPDX-License-Identifier: MIT

import NIOCore
import Synchronization
import Text

/// The body of a request, which records whether it may have been sent.
///
/// Without the body, etcd cannot have done anything.
final class OutgoingJSON: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private let buffer: ByteBuffer
    private let taken = Atomic(false)

    init(_ body: JSONObject) {
        buffer = ByteBuffer(bytes: JSONValue.object(body).serialized)
    }

    var count: Int { buffer.readableBytes }

    /// Whether the HTTP library has a connection and has taken the bytes.
    var wasTaken: Bool { taken.load(ordering: .acquiring) }

    func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let body: OutgoingJSON

        mutating func next() async -> ByteBuffer? {
            body.taken.exchange(true, ordering: .acquiringAndReleasing) ? nil : body.buffer
        }
    }
}
