// SPDX-License-Identifier: MIT

/// A reader of a JSON text, part by part and without values (RFC 8259).
///
/// All readers of JSON use it, so that they agree on what is JSON. Names and strings are checked for escapes and
/// control characters; that they are UTF-8 is checked when they are decoded.
package struct JSONScanner {
    package let bytes: [UInt8]
    /// The index at which the text ends.
    package let end: Int
    /// The index of the next byte.
    package private(set) var offset: Int
    /// Whether comments and a comma before a closing bracket are skipped, as in some configuration files.
    private let isLenient: Bool

    /// Creates a scanner of `range`, or of all of `bytes`.
    package init(_ bytes: [UInt8], in range: Range<Int>? = nil, isLenient: Bool = false) {
        self.bytes = bytes
        offset = range?.lowerBound ?? 0
        end = range?.upperBound ?? bytes.count
        self.isLenient = isLenient
    }

    /// The next byte.
    ///
    /// - Throws: ``JSONError`` at the end of the text.
    package func peek() throws(JSONError) -> UInt8 {
        guard offset < end else { throw failure(.unexpectedEnd) }
        return bytes[offset]
    }

    /// Skips `byte` if it is next.
    ///
    /// - Returns: `true` if it was.
    package mutating func take(_ byte: UInt8) -> Bool {
        guard offset < end, bytes[offset] == byte else { return false }
        offset += 1
        return true
    }

    /// Skips `byte`, which has to be next.
    package mutating func expect(_ byte: UInt8) throws(JSONError) {
        guard try peek() == byte else { throw failure(.unexpectedByte) }
        offset += 1
    }

    package mutating func skipBlanks() {
        while offset < end {
            if bytes[offset].isBlank {
                offset += 1
            } else if !isLenient || !skipComment() {
                return
            }
        }
    }

    private mutating func skipComment() -> Bool {
        let rest = bytes[offset..<end]
        if rest.starts(with: "//".utf8) {
            offset = rest.firstIndex(of: 0x0A) ?? end
        } else if rest.starts(with: "/*".utf8) {
            offset += 2
            while offset < end, !bytes[offset..<end].starts(with: "*/".utf8) { offset += 1 }
            offset = min(end, offset + 2)
        } else {
            return false
        }
        return true
    }

    /// Whether only blanks are left.
    package mutating func isAtEnd() -> Bool {
        skipBlanks()
        return offset == end
    }

    /// Skips the opening bracket of an object or array, which is next, and the blanks after it.
    ///
    /// - Returns: `true` if a part follows. Otherwise the `closing` bracket is skipped too.
    package mutating func begin(until closing: UInt8) throws(JSONError) -> Bool {
        offset += 1
        skipBlanks()
        guard try peek() == closing else { return true }
        offset += 1
        return false
    }

    /// Skips the comma after a part of an object or array, and the blanks around it.
    ///
    /// - Returns: `true` if a part follows. Otherwise the `closing` bracket is skipped.
    package mutating func goOn(until closing: UInt8) throws(JSONError) -> Bool {
        skipBlanks()
        if try peek() == UInt8(ascii: ",") {
            offset += 1
            skipBlanks()
            guard isLenient, try peek() == closing else { return true }
        }
        try expect(closing)
        return false
    }

    /// Reads the name of a member, and skips the colon after it.
    package mutating func memberName() throws(JSONError) -> String {
        let start = offset
        _ = try string()
        guard let name = try JSONValue(parsing: bytes[start..<offset]).string else {
            throw failure(.unexpectedByte)
        }
        try colon()
        return name
    }

    /// Skips the colon after the name of a member, and the blanks around it.
    package mutating func colon() throws(JSONError) {
        skipBlanks()
        try expect(UInt8(ascii: ":"))
        skipBlanks()
    }

    /// Skips a value.
    ///
    /// - Parameter depthLeft: The deepest nesting of arrays and objects.
    /// - Throws: ``JSONError``.
    package mutating func value(depthLeft: Int) throws(JSONError) {
        let byte = try peek()
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard depthLeft > 0 else { throw failure(.tooDeep) }
            let isObject = byte == UInt8(ascii: "{")
            let closing = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
            var follows = try begin(until: closing)
            while follows {
                if isObject {
                    _ = try string()
                    try colon()
                }
                try value(depthLeft: depthLeft - 1)
                follows = try goOn(until: closing)
            }
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: _ = try number()
        }
    }

    /// Skips `word`, which has to be next.
    package mutating func word(_ word: StaticString) throws(JSONError) {
        for byte in String(describing: word).utf8 { try expect(byte) }
    }

    /// Skips a number: `-`? int frac? exp?, without a leading zero (RFC 8259 §6).
    ///
    /// - Returns: Its range.
    package mutating func number() throws(JSONError) -> Range<Int> {
        let start = offset
        let first = try peek()
        guard first == UInt8(ascii: "-") || first.isASCIIDigit else { throw failure(.unexpectedByte) }
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        return start..<offset
    }

    private mutating func digits() throws(JSONError) {
        let start = offset
        while offset < end, bytes[offset].isASCIIDigit { offset += 1 }
        guard offset > start else { throw failure(.invalidNumber) }
    }

    package func failure(_ reason: JSONError.Reason) -> JSONError {
        JSONError(reason: reason, offset: offset)
    }

    /// Skips a string.
    ///
    /// - Returns: The range between the quotation marks, and whether it has escapes.
    package mutating func string() throws(JSONError) -> (content: Range<Int>, hasEscapes: Bool) {
        try expect(UInt8(ascii: "\""))
        let start = offset
        var hasEscapes = false
        while true {
            let byte = try peek()
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return (start..<offset - 1, hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                try escape()
            case 0..<0x20: throw JSONError(reason: .invalidString, offset: offset - 1)
            default: break
            }
        }
    }

    private mutating func escape() throws(JSONError) {
        let byte = try peek()
        offset += 1
        guard byte == UInt8(ascii: "u") else {
            guard #""\/bfnrt"#.utf8.contains(byte) else { throw failure(.invalidString) }
            return
        }
        guard end - offset >= 4 else { throw JSONError(reason: .unexpectedEnd, offset: end) }
        guard bytes[offset..<offset + 4].allSatisfy({ $0.hexDigitValue != nil }) else {
            throw failure(.invalidString)
        }
        offset += 4
    }
}

extension UInt8 {
    /// Whether the byte is a blank of JSON.
    package var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
