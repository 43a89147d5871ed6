// SPDX-License-Identifier: MIT

import Glibc

extension UnsafeMutableRawBufferPointer {
    /// Zeroes the memory in a way the optimiser keeps.
    package func wipe() {
        guard let base = baseAddress else { return }
        unsafe explicit_bzero(base, count)
    }
}

extension [UInt8] {
    /// Zeroes the elements, in place if nobody else holds the array.
    package mutating func wipe() {
        unsafe withUnsafeMutableBytes { unsafe $0.wipe() }
    }
}
