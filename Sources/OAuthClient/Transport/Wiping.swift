// SPDX-License-Identifier: MIT

import Glibc

/// Overwrites memory that held a secret.
enum Wiping {
    /// Zeroes `bytes` in a way the optimiser keeps.
    static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        unsafe explicit_bzero(base, bytes.count)
    }

    /// Zeroes the elements of `bytes`, which must not be shared with another array.
    static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { unsafe wipe($0) }
    }
}
