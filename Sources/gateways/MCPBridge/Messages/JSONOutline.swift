// SPDX-License-Identifier: MIT

import Text

/// The positions of the outermost parts of a JSON text, which is checked completely (RFC 8259).
///
/// A message may be large, and a tree of its values would need many times its size. So only the members of
/// the outermost object, or the elements of the outermost array, are recorded. Everything else is checked and
/// skipped.
struct JSONOutline {
    /// The outermost value.
    enum Content {
        /// The names in their order, each once, with the positions of the values.
        case object([(name: String, value: Range<Int>)])
        case array([Range<Int>])
        case other
    }

    /// The reason a text has no outline.
    enum OutlineError: Error, Equatable {
        case notJSON
        /// The text exceeds ``deepest`` or ``maximumParts``.
        case tooLarge
        case repeatedName
    }

    /// The maximum nesting depth: far more than people or programs write, and far less than a stack allows.
    static let deepest = 128
    /// The maximum number of members or elements of the outermost value.
    static let maximumParts = 1024

    let content: Content

    /// Checks the part `range` of a text that is known to be UTF-8.
    init(_ bytes: [UInt8], in range: Range<Int>) throws(OutlineError) {
        var scanner = OutlineScanner(bytes: bytes, end: range.upperBound, place: range.lowerBound)
        content = try scanner.content()
    }

    /// Returns the position of the value of the member `name`, or `nil` if there is no such member.
    func value(of name: ByteText) -> Range<Int>? {
        guard case .object(let members) = content else { return nil }
        return members.first { $0.name.bytewise == name }?.value
    }
}

private struct OutlineScanner {
    let bytes: [UInt8]
    let end: Int
    var place: Int

    mutating func content() throws(JSONOutline.OutlineError) -> JSONOutline.Content {
        skipBlanks()
        let content: JSONOutline.Content
        switch try peek() {
        case UInt8(ascii: "{"): content = .object(try members())
        case UInt8(ascii: "["): content = .array(try elements())
        default:
            try value(at: 0)
            content = .other
        }
        skipBlanks()
        guard place == end else { throw .notJSON }
        return content
    }

    private mutating func members() throws(JSONOutline.OutlineError) -> [(name: String, value: Range<Int>)] {
        var members: [(name: String, value: Range<Int>)] = []
        var names: Set<ByteText> = []
        try list(until: UInt8(ascii: "}")) { scanner throws(JSONOutline.OutlineError) in
            let start = scanner.place
            try scanner.string()
            guard let name = (try? JSONValue(parsing: scanner.bytes[start..<scanner.place]))?.string else {
                throw .notJSON
            }
            guard names.insert(name.bytewise).inserted else { throw .repeatedName }
            let value = try scanner.noted { scanner throws(JSONOutline.OutlineError) in
                try scanner.colon()
            }
            guard members.count < JSONOutline.maximumParts else { throw .tooLarge }
            members.append((name, value))
        }
        return members
    }

    private mutating func elements() throws(JSONOutline.OutlineError) -> [Range<Int>] {
        var elements: [Range<Int>] = []
        try list(until: UInt8(ascii: "]")) { scanner throws(JSONOutline.OutlineError) in
            guard elements.count < JSONOutline.maximumParts else { throw .tooLarge }
            elements.append(try scanner.noted { _ in })
        }
        return elements
    }

    /// Skips the name of a value with `pass`, then the value.
    ///
    /// - Returns: the position of the value.
    private mutating func noted(
        after pass: (inout OutlineScanner) throws(JSONOutline.OutlineError) -> Void
    ) throws(JSONOutline.OutlineError) -> Range<Int> {
        try pass(&self)
        skipBlanks()
        let start = place
        try value(at: 1)
        return start..<place
    }

    /// Skips one value.
    private mutating func value(at depth: Int) throws(JSONOutline.OutlineError) {
        guard depth < JSONOutline.deepest else { throw .tooLarge }
        switch try peek() {
        case UInt8(ascii: "{"):
            try list(until: UInt8(ascii: "}")) { scanner throws(JSONOutline.OutlineError) in
                try scanner.string()
                try scanner.colon()
                scanner.skipBlanks()
                try scanner.value(at: depth + 1)
            }
        case UInt8(ascii: "["):
            try list(until: UInt8(ascii: "]")) { scanner throws(JSONOutline.OutlineError) in
                try scanner.value(at: depth + 1)
            }
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: try number()
        }
    }

    /// Skips the parts between the current bracket and `closing`, each read by `part`.
    private mutating func list(
        until closing: UInt8,
        _ part: (inout OutlineScanner) throws(JSONOutline.OutlineError) -> Void
    ) throws(JSONOutline.OutlineError) {
        place += 1
        skipBlanks()
        if take(closing) { return }
        while true {
            skipBlanks()
            try part(&self)
            skipBlanks()
            if take(closing) { return }
            guard take(UInt8(ascii: ",")) else { throw .notJSON }
        }
    }

    private mutating func colon() throws(JSONOutline.OutlineError) {
        skipBlanks()
        guard take(UInt8(ascii: ":")) else { throw .notJSON }
    }

    private mutating func string() throws(JSONOutline.OutlineError) {
        guard take(UInt8(ascii: "\"")) else { throw .notJSON }
        while place < end {
            let byte = bytes[place]
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20: throw .notJSON
            default: break
            }
        }
        throw .notJSON
    }

    private mutating func escape() throws(JSONOutline.OutlineError) {
        let byte = try peek()
        place += 1
        if byte == UInt8(ascii: "u") {
            guard end - place >= 4, bytes[place..<place + 4].allSatisfy({ $0.hexDigitValue != nil }) else {
                throw .notJSON
            }
            place += 4
        } else {
            guard #""\/bfnrt"#.utf8.contains(byte) else { throw .notJSON }
        }
    }

    private mutating func word(_ word: String) throws(JSONOutline.OutlineError) {
        guard bytes[place..<end].starts(with: word.utf8) else { throw .notJSON }
        place += word.utf8.count
    }

    /// Skips a number.
    ///
    /// RFC 8259 §6: `-`? int frac? exp?, no leading zero.
    private mutating func number() throws(JSONOutline.OutlineError) {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
    }

    private mutating func digits() throws(JSONOutline.OutlineError) {
        let start = place
        while place < end, bytes[place].isASCIIDigit { place += 1 }
        guard place > start else { throw .notJSON }
    }

    private mutating func skipBlanks() {
        while place < end {
            switch bytes[place] {
            case 0x20, 0x0A, 0x0D, 0x09: place += 1
            default: return
            }
        }
    }

    private func peek() throws(JSONOutline.OutlineError) -> UInt8 {
        guard place < end else { throw .notJSON }
        return bytes[place]
    }

    /// Consumes `byte` if it is next.
    private mutating func take(_ byte: UInt8) -> Bool {
        guard place < end, bytes[place] == byte else { return false }
        place += 1
        return true
    }
}
