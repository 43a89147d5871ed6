// SPDX-License-Identifier: MIT

import Text

/// A parser of the client's messages on standard input, one on each line (Model Context Protocol, Transports,
/// stdio).
package struct MessageLines: Sendable {
    package enum Line: Equatable, Sendable {
        /// A line that is not empty, without its line end.
        case message([UInt8])
        /// A line longer than the maximum message size, reported once and discarded.
        case tooLong
    }

    private let longest: Int
    private var cutter = LineCutter()
    /// Whether the rest of the current line is skipped because it is too long.
    private var isPassing = false

    /// Creates a parser.
    ///
    /// - Parameter longest: the maximum size of a line, in bytes.
    package init(longest: Int = BridgeLimits.message) {
        self.longest = longest
    }

    /// Appends bytes read from the input.
    package mutating func append(_ read: [UInt8]) {
        cutter.append(read)
    }

    /// Returns the next line, or `nil` if it is incomplete.
    package mutating func next() -> Line? {
        while var line = cutter.next() {
            if line.last == 0x0D { line.removeLast() }
            if isPassing {
                isPassing = false
            } else if line.count > longest {
                return .tooLong
            } else if !line.isEmpty {
                return .message(line)
            }
        }
        guard cutter.heldCount > longest + 1 else { return nil }
        cutter.forget()
        guard !isPassing else { return nil }
        isPassing = true
        return .tooLong
    }

    /// Returns the last line, which has no line end, after the end of the input.
    package mutating func last() -> Line? {
        append([0x0A])
        return next()
    }
}
