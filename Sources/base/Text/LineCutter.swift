// SPDX-License-Identifier: MIT

/// A buffer that cuts incoming bytes into lines.
///
/// Each line takes time linear in its own size, however many arrive at once.
package struct LineCutter: Sendable {
    private var bytes: [UInt8] = []
    /// The start of the current line.
    ///
    /// Bytes before it were returned already, and are removed when no complete line is left.
    private var start = 0
    /// The index up to which there is no further line feed.
    private var searched = 0

    package init() {}

    /// The number of bytes not yet returned by ``next()``; after a `nil`, those of the incomplete last line.
    package var heldCount: Int { bytes.count - start }

    package mutating func append(_ more: [UInt8]) { bytes += more }

    /// Returns the next line without its line feed, or `nil` if it is not yet complete.
    package mutating func next() -> [UInt8]? {
        guard let feed = bytes[searched...].firstIndex(of: 0x0A) else {
            bytes.removeFirst(start)
            start = 0
            searched = bytes.count
            return nil
        }
        defer {
            start = feed + 1
            searched = start
        }
        return Array(bytes[start..<feed])
    }

    /// Discards all buffered bytes.
    package mutating func forget() { self = LineCutter() }
}
