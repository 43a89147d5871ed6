// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc

/// A copy of standard input that can be read twice.
struct RequestSpool: ~Copyable {
    /// The standard input for curl.
    let descriptor: Int32
    /// The offset at which the body begins, or `nil` if standard input is not read.
    private let start: off_t?

    /// Prepares standard input for a second read, if `isNeeded`.
    ///
    /// A regular file is read in place; anything else is copied into an unnamed file in `$TMPDIR` or `/tmp`.
    ///
    /// - Throws: ``AgentError`` with the code `internal` if the copy cannot be written.
    init(isNeeded: Bool) throws(AgentError) {
        guard isNeeded else {
            (descriptor, start) = (STDIN_FILENO, nil)
            return
        }
        let position = lseek(STDIN_FILENO, 0, SEEK_CUR)
        start = max(0, position)
        descriptor = position < 0 ? try RequestSpool.copy() : STDIN_FILENO
    }

    deinit {
        if descriptor != STDIN_FILENO { close(descriptor) }
    }

    /// Seeks to the beginning of the body.
    borrowing func rewind() {
        if let start { lseek(descriptor, start, SEEK_SET) }
    }

    private static func copy() throws(AgentError) -> Int32 {
        let directory = AgentPaths.variable("TMPDIR") ?? "/tmp"
        let file = unsafe hardening_unnamed_file(directory)
        guard file >= 0 else {
            throw AgentError(.internal, "cannot create a file in \(directory): \(systemMessage(errno))")
        }
        let error = copy(to: file)
        if error == 0, lseek(file, 0, SEEK_SET) == 0 { return file }
        close(file)
        throw AgentError(.internal, "cannot copy standard input: \(systemMessage(error))")
    }

    private static func copy(to file: Int32) -> Int32 {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(STDIN_FILENO, &buffer, buffer.count)
            if count == 0 { return 0 }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return errno }
            let error = unsafe buffer.withUnsafeBytes {
                unsafe writeAll(.init(rebasing: $0[..<count]), to: file)
            }
            guard error == 0 else { return error }
        }
    }
}
