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
        var parser = JSONParser(
            scanner: JSONScanner(Array(bytes)),
            depthLeft: maximumDepth,
            valuesLeft: maximumValues
        )
        self = try parser.parseText()
    }
}

/// A recursive parser with limits for the depth and the number of values.
private struct JSONParser {
    var scanner: JSONScanner
    var depthLeft: Int
    var valuesLeft: Int

    mutating func parseText() throws(JSONError) -> JSONValue {
        scanner.skipBlanks()
        let value = try parseValue()
        guard scanner.isAtEnd() else { throw scanner.failure(.trailingBytes) }
        return value
    }

    private mutating func parseValue() throws(JSONError) -> JSONValue {
        guard valuesLeft > 0 else { throw scanner.failure(.tooManyValues) }
        valuesLeft -= 1
        switch try scanner.peek() {
        case UInt8(ascii: "{"): return try nested { parser throws(JSONError) in try parser.parseObject() }
        case UInt8(ascii: "["): return try nested { parser throws(JSONError) in try parser.parseArray() }
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parseWord("true", as: .bool(true))
        case UInt8(ascii: "f"): return try parseWord("false", as: .bool(false))
        case UInt8(ascii: "n"): return try parseWord("null", as: .null)
        default: return .number(String(decoding: scanner.bytes[try scanner.number()], as: UTF8.self))
        }
    }

    private mutating func nested(
        _ parse: (inout JSONParser) throws(JSONError) -> JSONValue
    ) throws(JSONError) -> JSONValue {
        guard depthLeft > 0 else { throw scanner.failure(.tooDeep) }
        depthLeft -= 1
        defer { depthLeft += 1 }
        return try parse(&self)
    }

    private mutating func parseObject() throws(JSONError) -> JSONValue {
        var members: [JSONObject.Member] = []
        var names: Set<ByteText> = []
        var follows = try scanner.begin(until: UInt8(ascii: "}"))
        while follows {
            let start = scanner.offset
            let name = try parseString()
            guard name.utf8.count <= JSONObject.maximumNameLength else {
                throw JSONError(reason: .nameTooLong, offset: start)
            }
            guard names.insert(name.bytewise).inserted else {
                throw JSONError(reason: .duplicateMember, offset: start)
            }
            try scanner.colon()
            members.append(JSONObject.Member(name: name, value: try parseValue()))
            follows = try scanner.goOn(until: UInt8(ascii: "}"))
        }
        return .object(JSONObject(members: members))
    }

    private mutating func parseArray() throws(JSONError) -> JSONValue {
        var elements: [JSONValue] = []
        var follows = try scanner.begin(until: UInt8(ascii: "]"))
        while follows {
            elements.append(try parseValue())
            follows = try scanner.goOn(until: UInt8(ascii: "]"))
        }
        return .array(elements)
    }

    private mutating func parseWord(_ word: StaticString, as value: JSONValue) throws(JSONError) -> JSONValue
    {
        try scanner.word(word)
        return value
    }

    private mutating func parseString() throws(JSONError) -> String {
        let (content, hasEscapes) = try scanner.string()
        let bytes = hasEscapes ? try unescaped(content) : scanner.bytes[content]
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw JSONError(reason: .invalidUTF8, offset: content.lowerBound)
        }
        return text
    }

    /// Returns the bytes that the content of a string stands for; its escapes are known to be complete.
    private func unescaped(_ content: Range<Int>) throws(JSONError) -> ArraySlice<UInt8> {
        var unescaped: [UInt8] = []
        var rest = scanner.bytes[content]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                unescaped.append(byte)
                continue
            }
            switch escape {
            case UInt8(ascii: "b"): unescaped.append(0x08)
            case UInt8(ascii: "f"): unescaped.append(0x0C)
            case UInt8(ascii: "n"): unescaped.append(0x0A)
            case UInt8(ascii: "r"): unescaped.append(0x0D)
            case UInt8(ascii: "t"): unescaped.append(0x09)
            case UInt8(ascii: "u"): unescaped += String(try scalar(&rest)).utf8
            default: unescaped.append(escape)
            }
        }
        return unescaped[...]
    }

    /// Reads the digits of a `\u` escape, and the escape after it if both are a surrogate pair.
    private func scalar(_ rest: inout ArraySlice<UInt8>) throws(JSONError) -> Unicode.Scalar {
        let unit = JSONParser.unit(&rest)
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard (0xD800..<0xDC00).contains(unit), rest.starts(with: "\\u".utf8) else {
            throw JSONError(reason: .invalidString, offset: rest.startIndex)
        }
        rest = rest.dropFirst(2)
        let low = JSONParser.unit(&rest)
        guard (0xDC00..<0xE000).contains(low),
            let scalar = Unicode.Scalar(0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        else { throw JSONError(reason: .invalidString, offset: rest.startIndex) }
        return scalar
    }

    private static func unit(_ rest: inout ArraySlice<UInt8>) -> UInt32 {
        let digits = rest.prefix(4)
        rest = rest.dropFirst(4)
        return digits.reduce(0) { $0 << 4 | UInt32($1.hexDigitValue ?? 0) }
    }
}
