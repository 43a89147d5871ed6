// SPDX-License-Identifier: MIT

extension JSONValue {
    /// Parses one JSON text (RFC 8259), rejecting everything that parsers disagree about.
    ///
    /// Duplicate member names, a byte-order mark, invalid UTF-8, lone surrogates and trailing bytes are
    /// errors: two readers of a token response must not see two different tokens. Names longer than
    /// ``JSONObject/maximumNameLength`` bytes and more than `maximumValues` values are errors too.
    ///
    /// - Parameters:
    ///   - bytes: the whole text, UTF-8.
    ///   - maximumDepth: the deepest nesting of arrays and objects.
    ///   - maximumValues: the number of values in the text, including those in arrays and objects. Each costs
    ///     far more memory and time than its bytes.
    /// - Throws: ``JSONError``.
    package init(
        parsing bytes: some Sequence<UInt8>,
        maximumDepth: Int = 32,
        maximumValues: Int = 16_384
    ) throws(JSONError) {
        var parser = JSONParser(bytes: Array(bytes), depthLeft: maximumDepth, valuesLeft: maximumValues)
        self = try parser.parseText()
    }
}

/// A recursive parser with limits for the depth and the number of values.
private struct JSONParser {
    let bytes: [UInt8]
    var depthLeft: Int
    var valuesLeft: Int
    var offset = 0

    init(bytes: [UInt8], depthLeft: Int, valuesLeft: Int) {
        self.bytes = bytes
        self.depthLeft = depthLeft
        self.valuesLeft = valuesLeft
    }

    mutating func parseText() throws(JSONError) -> JSONValue {
        let value = try parseValue()
        skipBlanks()
        guard offset == bytes.count else { throw failure(.trailingBytes) }
        return value
    }

    private mutating func parseValue() throws(JSONError) -> JSONValue {
        skipBlanks()
        guard valuesLeft > 0 else { throw failure(.tooManyValues) }
        valuesLeft -= 1
        switch try peek() {
        case UInt8(ascii: "{"): return try nested { parser throws(JSONError) in try parser.parseObject() }
        case UInt8(ascii: "["): return try nested { parser throws(JSONError) in try parser.parseArray() }
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parseWord("true", as: .bool(true))
        case UInt8(ascii: "f"): return try parseWord("false", as: .bool(false))
        case UInt8(ascii: "n"): return try parseWord("null", as: .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try parseNumber())
        default: throw failure(.unexpectedByte)
        }
    }

    private mutating func nested(
        _ parse: (inout JSONParser) throws(JSONError) -> JSONValue
    ) throws(JSONError) -> JSONValue {
        guard depthLeft > 0 else { throw failure(.tooDeep) }
        depthLeft -= 1
        defer { depthLeft += 1 }
        offset += 1
        return try parse(&self)
    }

    private mutating func parseObject() throws(JSONError) -> JSONValue {
        var members: [JSONObject.Member] = []
        var names: Set<ByteText> = []
        skipBlanks()
        if try take(UInt8(ascii: "}")) { return .object(JSONObject()) }
        while true {
            skipBlanks()
            let start = offset
            guard try peek() == UInt8(ascii: "\"") else { throw failure(.unexpectedByte) }
            let name = try parseString()
            guard name.utf8.count <= JSONObject.maximumNameLength else {
                throw JSONError(reason: .nameTooLong, offset: start)
            }
            guard names.insert(name.bytewise).inserted else {
                throw JSONError(reason: .duplicateMember, offset: start)
            }
            skipBlanks()
            guard try take(UInt8(ascii: ":")) else { throw failure(.unexpectedByte) }
            members.append(JSONObject.Member(name: name, value: try parseValue()))
            skipBlanks()
            if try take(UInt8(ascii: "}")) { return .object(JSONObject(members: members)) }
            guard try take(UInt8(ascii: ",")) else { throw failure(.unexpectedByte) }
        }
    }

    private mutating func parseArray() throws(JSONError) -> JSONValue {
        var elements: [JSONValue] = []
        skipBlanks()
        if try take(UInt8(ascii: "]")) { return .array([]) }
        while true {
            elements.append(try parseValue())
            skipBlanks()
            if try take(UInt8(ascii: "]")) { return .array(elements) }
            guard try take(UInt8(ascii: ",")) else { throw failure(.unexpectedByte) }
        }
    }

    private mutating func parseWord(_ word: StaticString, as value: JSONValue) throws(JSONError) -> JSONValue
    {
        for expected in String(describing: word).utf8 {
            guard try take(expected) else { throw failure(.unexpectedByte) }
        }
        return value
    }

    /// Parses `-`? int frac? exp?, without a leading zero (RFC 8259 §6).
    private mutating func parseNumber() throws(JSONError) -> String {
        let start = offset
        skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) { try parseDigits() }
        if skip(UInt8(ascii: ".")) { try parseDigits() }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
            try parseDigits()
        }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func parseDigits() throws(JSONError) {
        let start = offset
        while offset < bytes.count, bytes[offset].isASCIIDigit { offset += 1 }
        guard offset > start else { throw failure(.invalidNumber) }
    }

    private mutating func parseString() throws(JSONError) -> String {
        offset += 1
        let start = offset
        // Most strings contain no escape: take them in one piece.
        while offset < bytes.count, bytes[offset] >= 0x20, bytes[offset] != UInt8(ascii: "\\") {
            guard bytes[offset] != UInt8(ascii: "\"") else {
                let text = try decode(bytes[start..<offset], from: start)
                offset += 1
                return text
            }
            offset += 1
        }
        return try parseEscapedString(from: start)
    }

    private mutating func parseEscapedString(from start: Int) throws(JSONError) -> String {
        var unescaped = Array(bytes[start..<offset])
        while true {
            let byte = try peek()
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                return try decode(unescaped[...], from: start)
            case UInt8(ascii: "\\"):
                offset += 1
                unescaped.append(contentsOf: String(try parseEscape()).utf8)
            case 0..<0x20:
                throw failure(.invalidString)
            default:
                unescaped.append(byte)
                offset += 1
            }
        }
    }

    private mutating func parseEscape() throws(JSONError) -> Unicode.Scalar {
        let byte = try peek()
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try parseUnicodeEscape()
        default: throw failure(.invalidString)
        }
    }

    private mutating func parseUnicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let unit = try parseFourHexDigits()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard (0xD800..<0xDC00).contains(unit), try take(UInt8(ascii: "\\")), try take(UInt8(ascii: "u"))
        else {
            throw failure(.invalidString)
        }
        let low = try parseFourHexDigits()
        guard (0xDC00..<0xE000).contains(low),
            let scalar = Unicode.Scalar(0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        else { throw failure(.invalidString) }
        return scalar
    }

    private mutating func parseFourHexDigits() throws(JSONError) -> UInt32 {
        guard bytes.count - offset >= 4 else { throw JSONError(reason: .unexpectedEnd, offset: bytes.count) }
        var value: UInt32 = 0
        for byte in bytes[offset..<offset + 4] {
            guard let digit = byte.hexDigitValue else { throw failure(.invalidString) }
            value = value << 4 | UInt32(digit)
        }
        offset += 4
        return value
    }

    private func decode(_ slice: ArraySlice<UInt8>, from start: Int) throws(JSONError) -> String {
        guard let text = String(validating: slice, as: UTF8.self) else {
            throw JSONError(reason: .invalidUTF8, offset: start)
        }
        return text
    }

    private mutating func skipBlanks() {
        while offset < bytes.count, bytes[offset].isBlank { offset += 1 }
    }

    private func peek() throws(JSONError) -> UInt8 {
        guard offset < bytes.count else { throw failure(.unexpectedEnd) }
        return bytes[offset]
    }

    /// Skips `byte` if it is next.
    ///
    /// - Returns: `true` if it was.
    @discardableResult
    private mutating func skip(_ byte: UInt8) -> Bool {
        guard offset < bytes.count, bytes[offset] == byte else { return false }
        offset += 1
        return true
    }

    /// Skips `byte` if it is next.
    ///
    /// - Returns: `true` if it was.
    /// - Throws: ``JSONError`` if the text ends here.
    private mutating func take(_ byte: UInt8) throws(JSONError) -> Bool {
        guard try peek() == byte else { return false }
        offset += 1
        return true
    }

    private func failure(_ reason: JSONError.Reason) -> JSONError {
        JSONError(reason: reason, offset: offset)
    }
}

extension UInt8 {
    var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
