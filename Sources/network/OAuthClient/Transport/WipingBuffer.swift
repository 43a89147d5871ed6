// SPDX-License-Identifier: MIT

import SecretMemory

/// A growing buffer that is wiped on deallocation.
///
/// One owner builds the buffer. After that it is only read, and readers may share it.
final class WipingBuffer: @unchecked Sendable {
    private var bytes = WipedBytes(capacity: 1_024)

    var count: Int { bytes.count }

    func append(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// Calls `body` with the bytes.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe bytes.read(body)
    }
}
