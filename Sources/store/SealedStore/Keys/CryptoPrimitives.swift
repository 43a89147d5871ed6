// SPDX-License-Identifier: MIT

import CSodium

/// Derived keys, MACs and signatures: BLAKE2b, subkeys based on it, and Ed25519.
enum CryptoPrimitives {
    /// Computes the BLAKE2b hash of `message` under `key`, with the size of `output`.
    ///
    /// BLAKE2b accepts keys of up to 64 bytes; longer ones are replaced by their BLAKE2b-512 hash.
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

    /// Returns a MAC of `count` bytes, 16 to 64: BLAKE2b of `message` under a `key` of at most 64 bytes.
    static func code(
        of message: UnsafeRawBufferPointer,
        key: UnsafeRawBufferPointer,
        count: Int = 32
    ) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { output, filled in
            guard let place = output.baseAddress else { return }
            unsafe crypto_generichash(
                place,
                count,
                message.baseAddress?.assumingMemoryBound(to: UInt8.self),
                UInt64(message.count),
                key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                key.count
            )
            filled = count
        }
    }

    /// Derives an Ed25519 key pair from a seed of 32 bytes.
    ///
    /// The secret key has 64 bytes, the public key 32.
    static func signingKey(
        of seed: UnsafeRawBufferPointer,
        into secretKey: UnsafeMutableRawBufferPointer,
        publicKey: UnsafeMutableRawBufferPointer
    ) {
        guard let seed = unsafe seed.baseAddress?.assumingMemoryBound(to: UInt8.self),
            let secret = unsafe secretKey.baseAddress?.assumingMemoryBound(to: UInt8.self),
            let open = unsafe publicKey.baseAddress?.assumingMemoryBound(to: UInt8.self)
        else { return }
        unsafe crypto_sign_seed_keypair(open, secret, seed)
    }

    /// The number of bytes in a signature.
    static let signatureCount = Int(crypto_sign_BYTES)

    /// Signs `message` with a secret key.
    static func signature(of message: [UInt8], key: UnsafeRawBufferPointer) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: signatureCount) { output, count in
            guard let place = output.baseAddress,
                let key = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
            else { return }
            unsafe crypto_sign_detached(place, nil, message, UInt64(message.count), key)
            count = signatureCount
        }
    }

    /// Returns whether `signature` is valid for `message` and `publicKey`.
    static func isSignature(
        _ signature: [UInt8],
        of message: [UInt8],
        publicKey: UnsafeRawBufferPointer
    ) -> Bool {
        guard signature.count == signatureCount,
            let key = unsafe publicKey.baseAddress?.assumingMemoryBound(to: UInt8.self)
        else { return false }
        return unsafe crypto_sign_verify_detached(signature, message, UInt64(message.count), key) == 0
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

    /// Derives subkey number `id` of a 32-byte key, in an 8-byte `context`.
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

    /// Returns whether two byte strings are equal, in time independent of where they differ.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe sodium_memcmp(left, right, left.count) == 0
    }
}
