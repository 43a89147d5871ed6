// SPDX-License-Identifier: MIT

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
    private var bytes: [UInt8] = []
    /// How many of `bytes` are known to hold no line feed.
    private var searched = 0
    /// Whether the present line is too long and is passed over.
    private var isPassing = false

    /// - Parameter longest: most bytes of one line.
    package init(longest: Int = BridgeLimits.message) {
        self.longest = longest
    }

    /// Takes what was read.
    package mutating func append(_ read: [UInt8]) {
        bytes += read
    }

    /// The next line, or `nil` if more bytes are needed for one.
    package mutating func next() -> Line? {
        while let end = bytes[searched...].firstIndex(of: 0x0A) {
            var line = bytes[..<end]
            if line.last == 0x0D { line = line.dropLast() }
            defer {
                bytes.removeFirst(end + 1)
                searched = 0
            }
            if isPassing {
                isPassing = false
            } else if line.count > longest {
                return .tooLong
            } else if !line.isEmpty {
                return .message(Array(line))
            }
        }
        searched = bytes.count
        guard bytes.count > longest + 1 else { return nil }
        bytes = []
        searched = 0
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
