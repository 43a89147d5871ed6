// SPDX-License-Identifier: MIT

extension [UInt8] {
    /// Drops one LF or CR LF at the end, which is no part of what a file or a program gives.
    package mutating func removeLineEnd() {
        if last == 0x0A { removeLast() }
        if last == 0x0D { removeLast() }
    }
}
