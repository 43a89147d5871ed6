// SPDX-License-Identifier: MIT

import Glibc

extension UnsafeMutableRawBufferPointer {
    /// Zeroes the memory in a way that the optimizer cannot remove.
    package func wipe() {
        guard let base = baseAddress else { return }
        unsafe explicit_bzero(base, count)
    }
}

extension [UInt8] {
    /// Zeroes the elements in place.
    ///
    /// Only effective while the array's storage is not shared: shared storage is copied first.
    package mutating func wipe() {
        unsafe withUnsafeMutableBytes { unsafe $0.wipe() }
    }
}
