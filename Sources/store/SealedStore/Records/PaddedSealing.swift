// SPDX-License-Identifier: MIT

import CSodium
import SecretMemory

/// The opening of content that was padded before it was sealed.
enum PaddedSealing {
    /// The block size to which plaintexts are padded, so that a token's length is hidden.
    static let block = 512

    /// Opens `sealed`, which was sealed under `key` and bound to `associated`.
    ///
    /// `body` gets the plaintext without its padding; the bytes are wiped when it returns.
    ///
    /// - Throws: ``RecordError/truncated``, ``RecordError/forged``, ``RecordError/malformed(_:)``, or the
    ///   error of `body`.
    static func open<Result>(
        _ sealed: ArraySlice<UInt8>,
        associated: [UInt8],
        key: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(RecordError) -> Result
    ) throws(RecordError) -> Result {
        let count = sealed.count - AEAD.overhead
        guard count >= 0 else { throw .truncated }
        return try unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) {
            plaintext throws(RecordError) in
            defer { if let base = plaintext.baseAddress { unsafe sodium_memzero(base, count) } }
            let isGenuine = unsafe sealed.withUnsafeBytes { sealed in
                unsafe AEAD.open(sealed, associated: associated, key: key, into: plaintext)
            }
            guard isGenuine else { throw .forged }
            return try unsafe body(unpadded(UnsafeRawBufferPointer(plaintext)))
        }
    }

    private static func unpadded(
        _ bytes: UnsafeRawBufferPointer
    ) throws(RecordError) -> UnsafeRawBufferPointer {
        var count = 0
        guard let base = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
            unsafe sodium_unpad(&count, base, bytes.count, block) == 0
        else { throw .malformed("its padding is wrong") }
        return unsafe UnsafeRawBufferPointer(rebasing: bytes[..<count])
    }
}
