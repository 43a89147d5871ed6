// SPDX-License-Identifier: MIT

import CSodium
import Glibc

/// SHA-256 (FIPS 180-4), by libsodium: 32 bytes.
struct SHA256 {
    private var state = crypto_hash_sha256_state()

    private init() {
        unsafe crypto_hash_sha256_init(&state)
    }

    private mutating func add(_ bytes: ArraySlice<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { part in
            _ = unsafe crypto_hash_sha256_update(&state, part.baseAddress, UInt64(part.count))
        }
    }

    private consuming func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        unsafe crypto_hash_sha256_final(&state, &digest)
        return digest
    }

    static func digest(of bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.add(bytes[...])
        return hash.finish()
    }

    /// Reads the open file to its end; `nil` where it cannot be read.
    static func digest(ofFile descriptor: Int32) -> [UInt8]? {
        var hash = SHA256()
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { return hash.finish() }
            hash.add(piece[..<count])
        }
    }
}
