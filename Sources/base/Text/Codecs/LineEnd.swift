// SPDX-License-Identifier: MIT

extension [UInt8] {
    /// Removes one LF or CR LF at the end, which is not part of the content of a file or the output of a
    /// program.
    package mutating func removeLineEnd() {
        if last == 0x0A { removeLast() }
        if last == 0x0D { removeLast() }
    }
}
