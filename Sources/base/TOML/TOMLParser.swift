// SPDX-License-Identifier: MIT

import Text

extension TOMLTable {
    /// Parses a whole TOML 1.0 text.
    ///
    /// A text of more than 4 MiB, a key of more than 16 parts, and more than 16 arrays and tables around a
    /// value are errors: no configuration needs them, and parsing recurses.
    ///
    /// - Throws: the first ``TOMLError``. Its message never contains a value, which may be a secret.
    package init(parsing bytes: [UInt8]) throws(TOMLError) {
        guard bytes.count <= TOMLParser.maximumTextLength else {
            let most = TOMLParser.maximumTextLength >> 20
            throw TOMLError(
                position: TOMLPosition(line: 1, column: 1),
                message: "the text is longer than \(most) MiB"
            )
        }
        try TOMLTable.checkEncoding(bytes)
        var parser = TOMLParser(bytes)
        self = try parser.parseText()
    }

    private static func checkEncoding(_ bytes: [UInt8]) throws(TOMLError) {
        do {
            _ = try UTF8Span(validating: bytes.span)
        } catch {
            let before = bytes[..<error.byteOffsets.lowerBound]
            let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            let line = before.count { $0 == UInt8(ascii: "\n") } + 1
            let position = TOMLPosition(line: line, column: before.endIndex - lineStart + 1)
            throw TOMLError(position: position, message: "the text is not UTF-8")
        }
    }
}

/// A parser of TOML 1.0 (https://toml.io/en/v1.0.0), line by line.
///
/// - Entry points: ``TOMLTable/init(parsing:)``, the only one for other modules. ``TOMLCursor`` reads bytes
///   and strings, ``TOMLScalarText`` numbers and dates, ``TOMLTree`` collects the tables.
/// - May not: quote a value in an error, or accept what TOML 1.0 does not allow.
struct TOMLParser {
    /// The maximum size of a text in bytes, enough for thousands of sessions.
    static let maximumTextLength = 4 << 20
    /// The maximum number of parts in one key; `a.b.c` has three.
    static let maximumParts = 16
    /// The maximum number of arrays and inline tables around a value.
    static let deepestNesting = 16

    private var cursor: TOMLCursor
    private var depth = 0

    init(_ bytes: [UInt8]) {
        cursor = TOMLCursor(bytes)
    }

    mutating func parseText() throws(TOMLError) -> TOMLTable {
        var tree = TOMLTree()
        var table = tree.root
        while cursor.next != nil {
            cursor.skipBlanks()
            switch cursor.next {
            case UInt8(ascii: "["): table = try header(&tree)
            case UInt8(ascii: "#"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), nil: break
            default: try assignment(to: table, of: &tree)
            }
            try cursor.endLine()
        }
        return tree.content
    }

    /// Reads `[a.b]` or `[[a.b]]`.
    private mutating func header(_ tree: inout TOMLTree) throws(TOMLError) -> TOMLTree.TableID {
        let position = cursor.position
        cursor.advance()
        let isElement = cursor.take("[")
        let path = try keyPath(at: position)
        guard cursor.take("]"), !isElement || cursor.take("]") else {
            throw cursor.error("expected \"\(isElement ? "]]" : "]")\" after the name of a table")
        }
        return isElement ? try tree.beginElement(path) : try tree.beginTable(path)
    }

    /// Reads `a.b = value`.
    private mutating func assignment(
        to table: TOMLTree.TableID,
        of tree: inout TOMLTree
    ) throws(TOMLError) {
        let path = try keyPath(at: cursor.position)
        guard cursor.take("=") else { throw cursor.error("expected \"=\" after key") }
        cursor.skipBlanks()
        try tree.set(path, to: value(), in: table)
    }

    /// Reads keys joined by dots, with the blanks around them.
    private mutating func keyPath(at position: TOMLPosition) throws(TOMLError) -> TOMLKeyPath {
        var keys: [ByteText] = []
        repeat {
            guard keys.count < Self.maximumParts else {
                throw cursor.error("key has more than \(Self.maximumParts) parts")
            }
            cursor.skipBlanks()
            keys.append(ByteText(try key()))
            cursor.skipBlanks()
        } while cursor.take(".")
        return TOMLKeyPath(leading: keys.dropLast(), last: keys[keys.count - 1], position: position)
    }

    private mutating func key() throws(TOMLError) -> String {
        switch cursor.next {
        case UInt8(ascii: "\""): return try cursor.basicString()
        case UInt8(ascii: "'"): return try cursor.literalString()
        default:
            let bytes = cursor.take(while: \.isBareKeyByte)
            guard !bytes.isEmpty else {
                throw cursor.error("expected a key: letters, digits, - and _, or a string in quotes")
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

// MARK: Values

extension TOMLParser {
    private mutating func value() throws(TOMLError) -> TOMLValue.Content {
        switch cursor.next {
        case UInt8(ascii: "\""):
            let isLong = cursor.takeThree(UInt8(ascii: "\""))
            return .string(isLong ? try cursor.restOfLongBasicString() : try cursor.basicString())
        case UInt8(ascii: "'"):
            let isLong = cursor.takeThree(UInt8(ascii: "'"))
            return .string(isLong ? try cursor.restOfLongLiteralString() : try cursor.literalString())
        case UInt8(ascii: "["):
            return try nested { parser throws(TOMLError) in .array(try parser.array()) }
        case UInt8(ascii: "{"):
            return try nested { parser throws(TOMLError) in .table(try parser.inlineTable()) }
        default: return try simpleValue()
        }
    }

    /// Skips the opening bracket and calls `read` one level deeper.
    private mutating func nested(
        _ read: (inout TOMLParser) throws(TOMLError) -> TOMLValue.Content
    ) throws(TOMLError) -> TOMLValue.Content {
        depth += 1
        guard depth <= Self.deepestNesting else {
            throw cursor.error("arrays and tables are nested more than \(Self.deepestNesting) deep")
        }
        cursor.advance()
        let content = try read(&self)
        depth -= 1
        return content
    }

    private mutating func array() throws(TOMLError) -> [TOMLValue] {
        var elements: [TOMLValue] = []
        while true {
            try cursor.skipLines()
            if cursor.take("]") { return elements }
            let position = cursor.position
            elements.append(TOMLValue(try value(), at: position))
            try cursor.skipLines()
            guard cursor.take(",") else {
                guard cursor.take("]") else {
                    throw cursor.error("expected \",\" or \"]\" in array")
                }
                return elements
            }
        }
    }

    /// Reads an inline table: one line, without a comma after its last value (TOML 1.0, Inline Table).
    private mutating func inlineTable() throws(TOMLError) -> TOMLTable {
        var tree = TOMLTree()
        cursor.skipBlanks()
        if cursor.take("}") { return tree.content }
        repeat {
            cursor.skipBlanks()
            try assignment(to: tree.root, of: &tree)
            cursor.skipBlanks()
        } while cursor.take(",")
        guard cursor.take("}") else {
            throw cursor.error("expected \",\" or \"}\" in inline table, on the same line")
        }
        return tree.content
    }

    private mutating func simpleValue() throws(TOMLError) -> TOMLValue.Content {
        let start = cursor
        var text = cursor.take(while: \.isSimpleValueByte)
        let isTimeNext = cursor.next == UInt8(ascii: " ") && cursor.peek(1)?.isASCIIDigit == true
        if isTimeNext, TOMLScalarText(text).isDate {
            // A blank may separate a date and a time (RFC 3339 §5.6).
            cursor.advance()
            text += [UInt8(ascii: " ")] + cursor.take(while: \.isSimpleValueByte)
        }
        guard let content = TOMLScalarText(text).content else {
            throw start.error("expected a value (is a string missing its quotes?)")
        }
        return content
    }
}

extension UInt8 {
    /// Whether the byte may appear in a number, a date, a time, `true` or `false`.
    fileprivate var isSimpleValueByte: Bool {
        isBareKeyByte || self == UInt8(ascii: "+") || self == UInt8(ascii: ".") || self == UInt8(ascii: ":")
    }
}
