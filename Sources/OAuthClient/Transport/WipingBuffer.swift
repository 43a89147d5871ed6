// SPDX-License-Identifier: MIT

import SealedStore

/// A growing run of bytes, wiped when it is gone, and shared by its readers.
///
/// Built by one owner, then only read.
final class WipingBuffer: @unchecked Sendable {
    private var bytes = WipedBytes(capacity: 1_024)

    var count: Int { bytes.count }

    func append(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// Lends the bytes.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe bytes.read(body)
    }
}
