// SPDX-License-Identifier: MIT

import Text

/// Finds the client's messages in the bytes of standard input: one message on each line (Model Context Protocol,
/// Transports, stdio).
package struct MessageLines: Sendable {
    package enum Line: Equatable, Sendable {
        /// A line that is not empty, without its line end.
        case message([UInt8])
        /// A line longer than a message may be, told once; it is not kept.
        case tooLong
    }

    private let longest: Int
    private var cutter = LineCutter()
    /// Whether the present line is too long and is passed over.
    private var isPassing = false

    /// - Parameter longest: most bytes of one line.
    package init(longest: Int = BridgeLimits.message) {
        self.longest = longest
    }

    /// Takes what was read.
    package mutating func append(_ read: [UInt8]) {
        cutter.append(read)
    }

    /// The next line, or `nil` if more bytes are needed for one.
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

    /// The line that has no end because the input ended.
    package mutating func last() -> Line? {
        append([0x0A])
        return next()
    }
}
