// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// Standard output, which receives only results; a command fails if it cannot write them.
package enum StandardOutput {
    /// Writes all of `bytes`.
    ///
    /// - Throws: ``AgentError`` with the code `internal` if the reader has closed the pipe or the disk is
    ///   full.
    package static func write(_ bytes: [UInt8]) throws(AgentError) {
        let error = unsafe bytes.withUnsafeBytes { unsafe writeAll($0, to: STDOUT_FILENO) }
        guard error == 0 else {
            throw AgentError(.internal, "cannot write to standard output: \(systemMessage(error))")
        }
    }

    /// Writes `text` and a line feed.
    package static func line(_ text: String) throws(AgentError) {
        try write(Array((text + "\n").utf8))
    }

    /// Writes `value` as JSON on one line.
    package static func json(_ value: JSONValue) throws(AgentError) {
        try write(TerminalText.ascii(value) + [0x0A])
    }

    /// Lets `SIGPIPE` end this program, for streaming output that has no use without a reader.
    package static func endWithReader() {
        _ = signal(SIGPIPE, SIG_DFL)
    }

    package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The number of columns of the terminal, or `nil` if standard output is not a terminal.
    package static var width: Int? {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}

/// Standard error, for the one line of an error.
package enum StandardError {
    /// Writes `text` and ignores errors, because there is no other place to report them.
    package static func write(_ text: String) {
        _ = unsafe Array(text.utf8).withUnsafeBytes { unsafe writeAll($0, to: STDERR_FILENO) }
    }
}

/// Writes all of `bytes` to `descriptor`.
///
/// - Returns: 0 or the error number.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var written = 0
    while written < bytes.count {
        let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
        let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
        if count < 0, errno != EINTR { return errno }
        written += max(0, count)
    }
    return 0
}
