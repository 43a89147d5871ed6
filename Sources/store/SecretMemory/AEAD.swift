// SPDX-License-Identifier: MIT

import CSodium

/// XChaCha20-Poly1305 with a random 192-bit nonce, stored as nonce ‖ ciphertext ‖ tag.
///
/// A random nonce of 192 bits needs no counter, so copies of a store and crashed agents never repeat one.
package enum AEAD {
    package static let keyCount = Int(crypto_aead_xchacha20poly1305_ietf_KEYBYTES)
    package static let nonceCount = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
    package static let tagCount = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)
    /// The number of bytes that sealing adds to the plaintext.
    package static let overhead = nonceCount + tagCount

    /// Seals `plaintext` under `key` (32 bytes), bound to `associated`.
    package static func seal(
        _ plaintext: UnsafeRawBufferPointer,
        associated: [UInt8],
        key: UnsafeRawBufferPointer
    ) -> [UInt8] {
        unsafe associated.withUnsafeBytes { unsafe seal(plaintext, associated: $0, key: key) }
    }

    /// Seals `plaintext` followed by `padding` zeros.
    package static func seal(
        _ plaintext: UnsafeRawBufferPointer,
        padding: Int = 0,
        associated: UnsafeRawBufferPointer,
        key: UnsafeRawBufferPointer
    ) -> [UInt8] {
        let length = plaintext.count + padding
        return unsafe [UInt8](unsafeUninitializedCapacity: length + overhead) { output, count in
            guard let nonce = output.baseAddress, let keyBytes = key.baseAddress else { return }
            unsafe randombytes_buf(nonce, nonceCount)
            let text = unsafe UnsafeMutableRawBufferPointer(start: nonce + nonceCount, count: length)
            unsafe text.copyMemory(from: plaintext)
            if padding > 0 { unsafe sodium_memzero(nonce + nonceCount + plaintext.count, padding) }
            // In place: the ciphertext overwrites the plaintext.
            unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
                nonce + nonceCount,
                nil,
                nonce + nonceCount,
                UInt64(length),
                associated.baseAddress?.assumingMemoryBound(to: UInt8.self),
                UInt64(associated.count),
                nil,
                nonce,
                keyBytes.assumingMemoryBound(to: UInt8.self)
            )
            count = length + overhead
        }
    }

    /// Opens `sealed` into `plaintext`, which must hold `sealed.count - overhead` bytes.
    ///
    /// - Returns: `true` if key, bytes and `associated` are the ones it was sealed with.
    package static func open(
        _ sealed: UnsafeRawBufferPointer,
        associated: [UInt8],
        key: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer
    ) -> Bool {
        unsafe associated.withUnsafeBytes {
            unsafe open(sealed, associated: $0, key: key, into: plaintext)
        }
    }

    package static func open(
        _ sealed: UnsafeRawBufferPointer,
        associated: UnsafeRawBufferPointer,
        key: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer
    ) -> Bool {
        guard sealed.count >= overhead, plaintext.count == sealed.count - overhead else { return false }
        guard let nonce = unsafe sealed.baseAddress?.assumingMemoryBound(to: UInt8.self),
            let keyBytes = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
        else { return false }
        return unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
            plaintext.baseAddress?.assumingMemoryBound(to: UInt8.self),
            nil,
            nil,
            nonce + nonceCount,
            UInt64(sealed.count - nonceCount),
            associated.baseAddress?.assumingMemoryBound(to: UInt8.self),
            UInt64(associated.count),
            nonce,
            keyBytes
        ) == 0
    }
}
