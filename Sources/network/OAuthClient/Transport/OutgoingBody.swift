// SPDX-License-Identifier: MIT

import NIOCore
import Text

/// The body of one request: one buffer, sent once, wiped afterwards.
final class OutgoingBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    /// The media type, or `nil` if the body is empty.
    let contentType: String?
    private let buffer: ByteBuffer
    private let stage: ExchangeAttempt

    /// Creates the body of `request`, or returns `nil` if it has none.
    ///
    /// The bytes are not handed over after `stage` is given up.
    init?(of request: OutgoingRequest, stage: ExchangeAttempt = ExchangeAttempt()) {
        self.stage = stage
        if let form = request.form {
            let names = request.format.names
            switch request.format.placement {
            case .form:
                contentType = "application/x-www-form-urlencoded"
                buffer = unsafe form.withBytes(names: names) { unsafe ByteBuffer(bytes: $0) }
            case .json:
                let json = form.json(names: names)
                contentType = json.contentType
                buffer = unsafe json.withBytes { unsafe ByteBuffer(bytes: $0) }
            case .query, .get:
                contentType = nil
                buffer = ByteBuffer()
            }
        } else if let json = request.json {
            contentType = json.contentType
            buffer = unsafe json.withBytes { unsafe ByteBuffer(bytes: $0) }
        } else {
            return nil
        }
    }

    var count: Int { buffer.readableBytes }

    /// Whether the HTTP library has taken the bytes.
    ///
    /// Until then, none of them can have been sent.
    var wasSent: Bool { stage.isConnected }

    /// The bytes, for a connection made without the HTTP library.
    var bytes: ByteBuffer { buffer }

    /// Wipes the bytes in place, for all holders.
    ///
    /// Call it on the event loop that sent them.
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
