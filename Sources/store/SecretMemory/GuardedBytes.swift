// SPDX-License-Identifier: MIT

import CSodium

/// A few bytes of key material in guarded memory: page-locked, excluded from dumps, between guard pages,
/// wiped on release.
///
/// One allocation costs four mappings and a locked page. Only keys are therefore stored here; tokens are
/// sealed under such a key.
@safe
package final class GuardedBytes: @unchecked Sendable {
    // Unchecked: the pointer never changes, and the bytes are written before anyone else has the object.
    private let base: UnsafeMutableRawPointer
    package let count: Int

    /// Allocates `count` zeroed bytes.
    ///
    /// - Throws: ``SealedMemoryError/outOfMemory`` if the system denies the pages.
    package init(count: Int) throws(SealedMemoryError) {
        guard sodium_init() >= 0, let base = unsafe sodium_malloc(count) else { throw .outOfMemory }
        unsafe sodium_memzero(base, count)
        unsafe self.base = base
        self.count = count
    }

    /// Copies `bytes`; the caller wipes the original.
    ///
    /// - Throws: ``SealedMemoryError/outOfMemory``.
    package convenience init(copying bytes: UnsafeRawBufferPointer) throws(SealedMemoryError) {
        try self.init(count: bytes.count)
        unsafe write { unsafe $0.copyMemory(from: bytes) }
    }

    deinit {
        // sodium_free overwrites the bytes with zeros first.
        unsafe sodium_free(base)
    }

    /// Passes the bytes to `body` for reading.
    package func read<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: base, count: count))
    }

    /// Passes the bytes to `body` for writing.
    package func write<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeMutableRawBufferPointer(start: base, count: count))
    }

    /// Fills the buffer with random bytes.
    package func randomize() {
        unsafe randombytes_buf(base, count)
    }
}
