// SPDX-License-Identifier: MIT

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Overwrites memory that held a secret.
enum Wiping {
    /// Zeroes `bytes` in a way the optimiser keeps.
    static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        #if canImport(Darwin)
        _ = unsafe memset_s(base, bytes.count, 0, bytes.count)
        #else
        unsafe explicit_bzero(base, bytes.count)
        #endif
    }

    /// Zeroes the elements of `bytes`, which must not be shared with another array.
    static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { unsafe wipe($0) }
    }
}
