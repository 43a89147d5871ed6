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
        var scanner = JSONScanner(bytes, in: range)
        do throws(JSONError) {
            content = try JSONOutline.content(&scanner)
            guard scanner.isAtEnd() else { throw scanner.failure(.trailingBytes) }
        } catch {
            switch error.reason {
            case .tooDeep, .tooManyValues: throw .tooLarge
            case .duplicateMember: throw .repeatedName
            default: throw .notJSON
            }
        }
    }

    private static func content(_ scanner: inout JSONScanner) throws(JSONError) -> Content {
        scanner.skipBlanks()
        let byte = try scanner.peek()
        guard byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") else {
            try scanner.value(depthLeft: 0)
            return .other
        }
        let isObject = byte == UInt8(ascii: "{")
        let closing = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
        var members: [(name: String, value: Range<Int>)] = []
        var elements: [Range<Int>] = []
        var names: Set<ByteText> = []
        var follows = try scanner.begin(until: closing)
        while follows {
            let name = isObject ? try scanner.memberName() : nil
            if let name, !names.insert(name.bytewise).inserted { throw scanner.failure(.duplicateMember) }
            guard members.count + elements.count < maximumParts else { throw scanner.failure(.tooManyValues) }
            let start = scanner.offset
            try scanner.value(depthLeft: deepest - 1)
            let value = start..<scanner.offset
            if let name { members.append((name, value)) } else { elements.append(value) }
            follows = try scanner.goOn(until: closing)
        }
        return isObject ? .object(members) : .array(elements)
    }

    /// Returns the position of the value of the member `name`, or `nil` if there is no such member.
    func value(of name: ByteText) -> Range<Int>? {
        guard case .object(let members) = content else { return nil }
        return members.first { $0.name.bytewise == name }?.value
    }
}
