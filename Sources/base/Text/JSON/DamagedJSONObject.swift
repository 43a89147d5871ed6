// SPDX-License-Identifier: MIT

/// The certain members of a JSON object that ``JSONValue`` rejects.
///
/// Tolerated: superfluous commas, words that are not JSON values, bytes that are not UTF-8, lone surrogates,
/// unknown escapes, and an end before the last brace. A member counts only if its value is complete.
package struct DamagedJSONObject: Sendable {
    /// The members, without those repeated with another value.
    package let members: JSONObject
    /// The names that are repeated with another value, at any depth.
    package let contradictions: Set<ByteText>
    /// The index after the object's last byte.
    package let end: Int

    /// Parses the object that begins at `start` of `bytes`, or returns `nil` if there is none.
    ///
    /// - Complexity: O(*n*), in the number of bytes from `start` on.
    package init?(in bytes: [UInt8], at start: Int) {
        var parser = TolerantParser(bytes: bytes, offset: start)
        guard let members = parser.object() else { return nil }
        self.members = members
        contradictions = parser.contradictions
        end = parser.offset
    }
}

/// A parser without errors: its functions return `nil` if there is no result, and set ``hasEnded`` at the end
/// of the bytes.
private struct TolerantParser {
    let bytes: [UInt8]
    var offset: Int
    var contradictions: Set<ByteText> = []
    /// Whether the bytes ended inside the value; its complete parts still count.
    private var hasEnded = false
    // The limits of JSONParser.
    private var depthLeft = 32
    private var valuesLeft = 16_384

    init(bytes: [UInt8], offset: Int) {
        self.bytes = bytes
        self.offset = offset
    }

    mutating func object() -> JSONObject? {
        guard depthLeft > 0, next == UInt8(ascii: "{") else { return nil }
        depthLeft -= 1
        defer { depthLeft += 1 }
        offset += 1
        var members: [JSONObject.Member] = []
        while true {
            skipBlanks(andCommas: true)
            guard let byte = next else { return end(members) }
            if byte == UInt8(ascii: "}") {
                offset += 1
                return unique(members)
            }
            guard byte == UInt8(ascii: "\"") else { return nil }
            guard let name = string() else { return hasEnded ? unique(members) : nil }
            skipBlanks()
            guard let colon = next else { return end(members) }
            guard colon == UInt8(ascii: ":") else { return nil }
            offset += 1
            let value = value()
            if let value { members.append(JSONObject.Member(name: name, value: value)) }
            if hasEnded { return unique(members) }
            guard value != nil, isSeparated else { return nil }
        }
    }

    private mutating func array() -> JSONValue? {
        guard depthLeft > 0 else { return nil }
        depthLeft -= 1
        defer { depthLeft += 1 }
        offset += 1
        var elements: [JSONValue] = []
        while true {
            skipBlanks(andCommas: true)
            guard let byte = next else {
                hasEnded = true
                return .array(elements)
            }
            if byte == UInt8(ascii: "]") {
                offset += 1
                return .array(elements)
            }
            let value = value()
            if let value { elements.append(value) }
            if hasEnded { return .array(elements) }
            guard value != nil, isSeparated else { return nil }
        }
    }

    private mutating func value() -> JSONValue? {
        skipBlanks()
        guard valuesLeft > 0, let byte = next else {
            hasEnded = next == nil
            return nil
        }
        valuesLeft -= 1
        switch byte {
        case UInt8(ascii: "{"): return object().map(JSONValue.object)
        case UInt8(ascii: "["): return array()
        case UInt8(ascii: "\""): return string().map(JSONValue.string)
        default: return word()
        }
    }

    /// Parses a number, `true` or `false`; any other word, such as `NaN`, is read as `null`.
    private mutating func word() -> JSONValue? {
        let start = offset
        while let byte = next, byte.isASCIILetter || byte.isASCIIDigit || "+-._".utf8.contains(byte) {
            offset += 1
        }
        // A number that ends with the bytes may be incomplete.
        guard next != nil else {
            hasEnded = true
            return nil
        }
        guard offset > start else { return nil }
        return (try? JSONValue(parsing: bytes[start..<offset])) ?? .null
    }

    /// Parses a string, or returns `nil` if it is not closed.
    private mutating func string() -> String? {
        offset += 1
        var text: [UInt8] = []
        while let byte = next {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): escape(&text)
            default: text.append(byte)
            }
        }
        hasEnded = true
        return nil
    }

    /// Parses the rest of an escape after its backslash; an escape unknown to JSON yields its own character.
    private mutating func escape(_ text: inout [UInt8]) {
        guard let byte = next else { return }
        offset += 1
        switch byte {
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += Array(String(decoding: units(), as: UTF16.self).utf8)
        default: text.append(byte)
        }
    }

    /// Parses the UTF-16 code units of consecutive escapes, beginning at the digits of the first.
    private mutating func units() -> [UInt16] {
        var units: [UInt16] = []
        repeat {
            let digits = bytes[offset...].prefix(4).prefix { $0.hexDigitValue != nil }
            guard digits.count == 4 else { break }
            units.append(digits.reduce(0) { $0 << 4 | UInt16($1.hexDigitValue ?? 0) })
            offset += 4
        } while follows("\\u")
        return units.isEmpty ? [0xFFFD] : units
    }

    private mutating func follows(_ text: StaticString) -> Bool {
        let text = String(describing: text).utf8
        guard bytes[offset...].starts(with: text) else { return false }
        offset += text.count
        return true
    }

    /// Whether a comma, the end of the enclosing value, or the end of the bytes follows.
    private var isSeparated: Bool {
        let rest = bytes[offset...].drop(while: \.isBlank)
        return rest.first.map { ",}]".utf8.contains($0) } ?? true
    }

    private mutating func end(_ members: [JSONObject.Member]) -> JSONObject {
        hasEnded = true
        return unique(members)
    }

    private mutating func unique(_ members: [JSONObject.Member]) -> JSONObject {
        var object = JSONObject()
        var values: [ByteText: JSONValue] = [:]
        for member in members where member.name.utf8.count <= JSONObject.maximumNameLength {
            let name = member.name.bytewise
            guard let known = values[name] else {
                values[name] = member.value
                continue
            }
            if known != member.value { contradictions.insert(name) }
        }
        var written: [JSONObject.Member] = []
        for member in members {
            guard let value = values.removeValue(forKey: member.name.bytewise),
                !contradictions.contains(member.name.bytewise)
            else { continue }
            written.append(JSONObject.Member(name: member.name, value: value))
        }
        object = JSONObject(members: written)
        return object
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipBlanks(andCommas: Bool = false) {
        while let byte = next, byte.isBlank || andCommas && byte == UInt8(ascii: ",") { offset += 1 }
    }
}
