// SPDX-License-Identifier: MIT

/// Refuses a text that nests deeper than anything of ours, before the library sees it.
///
/// The library makes a table for each part of a dotted key and frees tables within tables by recursion: a key of
/// 60,000 parts is more than a stack holds. Up to its first mistake a text is cut here where the library cuts it, and
/// what follows a mistake the library does not read.
struct TOMLBounds {
    /// Bytes of a whole text: thousands of sessions have room.
    static let longestText = 4 << 20
    /// Parts of one key, as in `a.b.c`, which has three.
    static let mostParts = 16
    /// Arrays and inline tables around a value.
    static let deepestNesting = 16

    private let bytes: [UInt8]
    private var offset = 0
    private var line = 1
    private var lineStart = 0
    private var depth = 0
    private var parts = 1

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// - Throws: ``TOMLError`` with the place where it became too much.
    mutating func check() throws(TOMLError) {
        guard bytes.count <= Self.longestText else {
            throw error("the text is longer than \(Self.longestText >> 20) MiB")
        }
        while offset < bytes.count { try next() }
    }

    private mutating func next() throws(TOMLError) {
        switch bytes[offset] {
        case UInt8(ascii: "#"): skip { $0 == UInt8(ascii: "\n") }
        case UInt8(ascii: "\""), UInt8(ascii: "'"): skipString(bytes[offset])
        case UInt8(ascii: "\n"):
            offset += 1
            line += 1
            lineStart = offset
            parts = 1
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            depth += 1
            guard depth <= Self.deepestNesting else {
                throw error("more than \(Self.deepestNesting) arrays and tables stand in one another")
            }
            begin()
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            depth = max(0, depth - 1)
            begin()
        case UInt8(ascii: "="), UInt8(ascii: ","): begin()
        case UInt8(ascii: "."):
            parts += 1
            guard parts <= Self.mostParts else {
                throw error("a key has more than \(Self.mostParts) parts")
            }
            offset += 1
        default: offset += 1
        }
    }

    /// A new key or value comes.
    private mutating func begin() {
        parts = 1
        offset += 1
    }

    private mutating func skip(until isEnd: (UInt8) -> Bool) {
        while offset < bytes.count, !isEnd(bytes[offset]) { offset += 1 }
    }

    /// Goes past the closing quotes; a line of text that is never closed ends with its line.
    private mutating func skipString(_ quote: UInt8) {
        let isBasic = quote == UInt8(ascii: "\"")
        let isLong = bytes[offset...].starts(with: [quote, quote, quote])
        offset += isLong ? 3 : 1
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: "\\") where isBasic: offset += 1
            case UInt8(ascii: "\n"):
                guard isLong else { return }
                line += 1
                lineStart = offset + 1
            case quote:
                guard isLong else {
                    offset += 1
                    return
                }
                if bytes[offset...].starts(with: [quote, quote, quote]) {
                    // Up to two quotes may stand before the closing three.
                    while offset < bytes.count, bytes[offset] == quote { offset += 1 }
                    return
                }
            default: break
            }
            offset += 1
        }
        offset = bytes.count
    }

    private func error(_ message: String) -> TOMLError {
        TOMLError(position: TOMLPosition(line: line, column: offset - lineStart + 1), message: message)
    }
}
