// SPDX-License-Identifier: MIT

import NIOCore
import Text

/// A request body on its way: one buffer, handed over once, wiped afterwards.
final class OutgoingBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let contentType: String
    private let buffer: ByteBuffer
    private let stage: ConnectionStage

    /// The body of `request`, if it has one; it is not handed over once `stage` is given up.
    init?(of request: OutgoingRequest, stage: ConnectionStage = ConnectionStage()) {
        self.stage = stage
        if let form = request.form {
            contentType = "application/x-www-form-urlencoded"
            buffer = unsafe form.withBytes { unsafe ByteBuffer(bytes: $0) }
        } else if let json = request.json {
            contentType = json.contentType
            buffer = unsafe json.withBytes { unsafe ByteBuffer(bytes: $0) }
        } else {
            return nil
        }
    }

    var count: Int { buffer.readableBytes }

    /// Whether the library has taken the bytes; before that none of them can have left.
    var wasSent: Bool { stage.isConnected }

    /// The bytes themselves, for a connection that is not the library's.
    var bytes: ByteBuffer { buffer }

    /// Zeroes the bytes in place, for all holders; on the event loop that sent them.
    func wipe() {
        unsafe buffer.withUnsafeReadableBytes { bytes in
            unsafe UnsafeMutableRawBufferPointer(mutating: bytes).wipe()
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let body: OutgoingBody

        mutating func next() async throws -> ByteBuffer? {
            if body.stage.proceed() { return body.buffer }
            guard !body.stage.isGivenUp else { throw CancellationError() }
            return nil
        }
    }
}
