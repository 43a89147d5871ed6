// SPDX-License-Identifier: MIT

/// Cuts bytes into lines as they come; what a line costs is its own bytes, however many come at once.
package struct LineCutter: Sendable {
    private var bytes: [UInt8] = []
    /// Where the present line begins: what is before it was handed out, and goes when no whole line is left.
    private var start = 0
    /// Up to where no line feed is left.
    private var searched = 0

    package init() {}

    /// How many bytes of lines that were not handed out are held; after a `nil`, those of the line that has no end yet.
    package var heldCount: Int { bytes.count - start }

    package mutating func append(_ more: [UInt8]) { bytes += more }

    /// The next line without its feed, or `nil` if more bytes are needed for one.
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

    /// Forgets everything that is held.
    package mutating func forget() { self = LineCutter() }
}
