// SPDX-License-Identifier: MIT

import CSodium

/// Makes keys from keys: BLAKE2b and the subkeys built on it.
enum KeyDerivation {
    /// BLAKE2b-256 of `message` under `key`.
    ///
    /// BLAKE2b takes keys up to 64 bytes; longer ones are replaced by their BLAKE2b-512.
    static func hash(
        _ message: [UInt8],
        key: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) {
        guard key.count > 64 else { return unsafe keyedHash(message, key: key, into: output) }
        unsafe withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { short in
            guard let short = unsafe short.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            let long = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
            unsafe crypto_generichash(short, 64, long, UInt64(key.count), nil, 0)
            unsafe keyedHash(message, key: UnsafeRawBufferPointer(start: short, count: 64), into: output)
            unsafe sodium_memzero(short, 64)
        }
    }

    private static func keyedHash(
        _ message: [UInt8],
        key: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) {
        guard let bytes = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        let keyBytes = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe crypto_generichash(bytes, output.count, message, UInt64(message.count), keyBytes, key.count)
    }

    /// Subkey number `id` of a 32-byte key, in an 8-byte `context`.
    static func subkey(
        _ id: UInt64,
        context: String,
        of key: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) {
        guard let bytes = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self),
            let keyBytes = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
        else { return }
        unsafe crypto_kdf_derive_from_key(bytes, output.count, id, context, keyBytes)
    }

    /// Whether two byte strings are equal, in time independent of where they differ.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe sodium_memcmp(left, right, left.count) == 0
    }
}
