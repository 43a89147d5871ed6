// SPDX-License-Identifier: MIT

/// Finds where the keys of a TOML text are written.
///
/// It reads a text that a parser has already accepted, so it need not judge: it follows table headers and
/// `key =` lines and skips values. Keys inside inline tables are not looked for.
struct KeyLocator {
    /// One step of the way to a value.
    enum Step: Hashable, Sendable {
        case key(String)
        /// The n-th `[[table]]` of an array of tables.
        case index(Int)
    }

    private let bytes: [UInt8]
    private var offset = 0
    private var line = 1
    private var lineStart = 0
    private var places: [[Step]: TOMLPosition] = [:]
    private var tableCounts: [[Step]: Int] = [:]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The place of each key and each array-of-tables element, by its path from the root.
    mutating func locate() -> [[Step]: TOMLPosition] {
        var table: [Step] = []
        while let byte = current {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): advance()
            case UInt8(ascii: "#"): skipComment()
            case UInt8(ascii: "["): table = readHeader()
            default: readAssignment(in: table)
            }
        }
        return places
    }

    private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private var position: TOMLPosition { TOMLPosition(line: line, column: offset - lineStart + 1) }

    private mutating func advance() {
        if bytes[offset] == UInt8(ascii: "\n") {
            line += 1
            lineStart = offset + 1
        }
        offset += 1
    }

    private mutating func skipComment() {
        while let byte = current, byte != UInt8(ascii: "\n") { advance() }
    }

    private mutating func skipBlanks() {
        while let byte = current, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { advance() }
    }

    /// `[a.b]` or `[[a.b]]`; returns the path that the following keys belong to.
    private mutating func readHeader() -> [Step] {
        let start = position
        advance()
        let isArray = current == UInt8(ascii: "[")
        if isArray { advance() }
        let keys = readKeys()
        while let byte = current, byte == UInt8(ascii: "]") { advance() }
        var path: [Step] = []
        for (number, key) in keys.enumerated() {
            path.append(.key(key))
            note(path, start)
            // A header below an array of tables means its latest element.
            if number < keys.count - 1 || !isArray, let count = tableCounts[path] {
                path.append(.index(count - 1))
            }
        }
        return isArray ? beginElement(of: path, at: start) : path
    }

    private mutating func beginElement(of array: [Step], at place: TOMLPosition) -> [Step] {
        let index = tableCounts[array, default: 0]
        tableCounts[array] = index + 1
        let element = array + [.index(index)]
        note(element, place)
        return element
    }

    /// `a.b = value`.
    private mutating func readAssignment(in table: [Step]) {
        let start = position
        var path = table
        for key in readKeys() {
            path.append(.key(key))
            note(path, start)
        }
        if current == UInt8(ascii: "=") { advance() }
        skipValue()
    }

    private mutating func note(_ path: [Step], _ place: TOMLPosition) {
        if places[path] == nil { places[path] = place }
    }

    /// Keys joined by dots, up to `=` or `]`.
    private mutating func readKeys() -> [String] {
        var keys: [String] = []
        while let byte = current, byte != UInt8(ascii: "="), byte != UInt8(ascii: "]"),
            byte != UInt8(ascii: "\n")
        {
            switch byte {
            case UInt8(ascii: "."), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): advance()
            case UInt8(ascii: "\""), UInt8(ascii: "'"): keys.append(readQuoted(byte))
            default: keys.append(readBare())
            }
        }
        return keys
    }

    private mutating func readBare() -> String {
        let start = offset
        while let byte = current, !KeyLocator.bareEnds.contains(byte) { advance() }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private static let bareEnds = Set(". \t\r\n=]".utf8)

    private mutating func readQuoted(_ quote: UInt8) -> String {
        advance()
        let start = offset
        while let byte = current, byte != quote {
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") { advance() }
            if current != nil { advance() }
        }
        defer { if current != nil { advance() } }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    /// Goes to the end of the line that ends the value.
    private mutating func skipValue() {
        var depth = 0
        while let byte = current {
            switch byte {
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: "#"):
                skipComment()
                continue
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                skipString(byte)
                continue
            case UInt8(ascii: "\n") where depth <= 0: return
            default: break
            }
            advance()
        }
    }

    private mutating func skipString(_ quote: UInt8) {
        let opening = [quote, quote, quote]
        guard bytes[offset...].starts(with: opening) else {
            _ = readQuoted(quote)
            return
        }
        for _ in opening { advance() }
        while let byte = current {
            if bytes[offset...].starts(with: opening) { break }
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") { advance() }
            if current != nil { advance() }
        }
        // Up to two quotes may stand before the closing three.
        while current == quote { advance() }
    }
}
