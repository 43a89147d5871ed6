// SPDX-License-Identifier: MIT

/// Finds where the keys of a TOML text are written.
///
/// It reads a text that a parser has already accepted, so it need not judge: it follows table headers and
/// `key =` lines and skips values. Keys inside inline tables are not looked for.
struct KeyLocator {
    private let bytes: [UInt8]
    private var offset = 0
    private var line = 1
    private var lineStart = 0
    private let root = KeyPlace(TOMLPosition(line: 1, column: 1))

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The place of the whole text, and below it of each key and each array-of-tables element.
    mutating func locate() -> KeyPlace {
        var table = root
        while let byte = current {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): advance()
            case UInt8(ascii: "#"): skipComment()
            case UInt8(ascii: "["): table = readHeader()
            default: readAssignment(in: table)
            }
        }
        return root
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

    /// `[a.b]` or `[[a.b]]`; returns the place that the following keys belong to.
    private mutating func readHeader() -> KeyPlace {
        let start = position
        advance()
        let isArray = current == UInt8(ascii: "[")
        if isArray { advance() }
        let keys = readKeys()
        while let byte = current, byte == UInt8(ascii: "]") { advance() }
        var place = root
        for (number, key) in keys.enumerated() {
            place = place.member(key, at: start)
            // A header below an array of tables means its latest element.
            if number < keys.count - 1 || !isArray, let latest = place.elements.last { place = latest }
        }
        return isArray ? place.beginElement(at: start) : place
    }

    /// `a.b = value`.
    private mutating func readAssignment(in table: KeyPlace) {
        let start = position
        var place = table
        for key in readKeys() { place = place.member(key, at: start) }
        if current == UInt8(ascii: "=") { advance() }
        skipValue()
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
        while let byte = current, byte.isBareKeyByte { advance() }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func readQuoted(_ quote: UInt8) -> String {
        let content = skipQuoted(quote)
        return String(decoding: bytes[content], as: UTF8.self)
    }

    /// Goes past the closing quote and returns where the content is.
    private mutating func skipQuoted(_ quote: UInt8) -> Range<Int> {
        advance()
        let start = offset
        while let byte = current, byte != quote {
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") { advance() }
            if current != nil { advance() }
        }
        defer { if current != nil { advance() } }
        return start..<offset
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
            _ = skipQuoted(quote)
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

extension UInt8 {
    /// Not the end of a bare key in a text that is known to be TOML.
    fileprivate var isBareKeyByte: Bool {
        switch self {
        case UInt8(ascii: "."), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"),
            UInt8(ascii: "="), UInt8(ascii: "]"):
            false
        default: true
        }
    }
}
