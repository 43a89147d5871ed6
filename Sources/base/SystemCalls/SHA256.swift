// SPDX-License-Identifier: MIT

import CSodium
import Glibc

/// SHA-256 (FIPS 180-4) from libsodium; a digest has 32 bytes.
package enum SHA256 {
    private static var empty: [UInt8] { [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES)) }

    /// Returns the digest of `bytes`.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        var digest = empty
        unsafe crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
        return digest
    }

    /// Returns the digest of an open file, or `nil` if the file cannot be read.
    package static func digest(ofFile descriptor: Int32) -> [UInt8]? {
        var state = crypto_hash_sha256_state()
        unsafe crypto_hash_sha256_init(&state)
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { break }
            unsafe crypto_hash_sha256_update(&state, piece, UInt64(count))
        }
        var digest = empty
        unsafe crypto_hash_sha256_final(&state, &digest)
        return digest
    }
}
