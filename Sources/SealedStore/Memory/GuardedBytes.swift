// SPDX-License-Identifier: MIT

import CSodium

/// A few bytes of key material in guarded memory: page-locked, not dumped, between guard pages, wiped on release.
///
/// One allocation costs four mappings and a locked page, so keys live here and tokens do not: those are sealed
/// under a key that lives here.
@safe
package final class GuardedBytes: @unchecked Sendable {
    // Unchecked: the pointer is fixed at creation, and the bytes are filled before anybody else has them.
    private let base: UnsafeMutableRawPointer
    package let count: Int

    /// Reserves `count` zeroed bytes.
    /// - Throws: ``SealedMemoryError/outOfMemory`` when the system refuses the pages.
    package init(count: Int) throws(SealedMemoryError) {
        guard sodium_init() >= 0, let base = unsafe sodium_malloc(count) else { throw .outOfMemory }
        unsafe sodium_memzero(base, count)
        unsafe self.base = base
        self.count = count
    }

    /// Copies `bytes`; the caller wipes its own.
    /// - Throws: ``SealedMemoryError/outOfMemory``.
    package convenience init(copying bytes: UnsafeRawBufferPointer) throws(SealedMemoryError) {
        try self.init(count: bytes.count)
        unsafe write { unsafe $0.copyMemory(from: bytes) }
    }

    deinit {
        // Overwrites the bytes with zeros first.
        unsafe sodium_free(base)
    }

    /// Lends the bytes for reading.
    package func read<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: base, count: count))
    }

    /// Lends the bytes for writing.
    package func write<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeMutableRawBufferPointer(start: base, count: count))
    }

    /// Fills the bytes with fresh randomness.
    package func randomize() {
        unsafe randombytes_buf(base, count)
    }
}
