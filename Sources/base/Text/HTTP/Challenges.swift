// SPDX-License-Identifier: MIT

/// The challenges in `WWW-Authenticate` fields, with which a server rejects a request (RFC 9110 §11.6.1).
///
/// Servers also separate parameters by blanks alone, write values with blanks and without quotes, or quote them
/// by apostrophes.
package struct Challenges {
    private struct Parameter {
        var scheme: ByteText
        var name: ByteText
        var value: String
    }

    private var parameters: [Parameter] = []
    private var schemes: [ByteText] = []

    /// The maximum numbers of parameters and of schemes read; the rest is ignored.
    private static let maximumElements = 100

    /// The maximum size of the text in bytes; header fields are limited to less.
    private static let longest = 64 << 10

    /// Parses the fields, joined by commas.
    ///
    /// A text that is too long yields no challenges.
    package init(_ text: String) {
        guard text.utf8.count <= Challenges.longest else { return }
        var rest = Array(text.utf8)[...]
        // A word right after a scheme is its `token68`.
        var isAfterScheme = false
        while max(parameters.count, schemes.count) < Challenges.maximumElements {
            let gap = rest.prefix { Challenges.isBlank($0) || $0 == UInt8(ascii: ",") }
            if gap.contains(UInt8(ascii: ",")) { isAfterScheme = false }
            rest = rest.dropFirst(gap.count)
            guard !rest.isEmpty else { return }
            let word = rest.prefix { !Challenges.isBlank($0) && !",=".utf8.contains($0) }
            rest = rest.dropFirst(word.count)
            let name = Substring(decoding: word, as: UTF8.self).bytewise.lowercased
            let isToken = !word.isEmpty && word.allSatisfy(\.isTokenByte)
            if let value = Challenges.assigned(in: rest) {
                rest = value
                let content = Challenges.takeValue(&rest)
                if let content, isToken, let scheme = schemes.last {
                    parameters.append(Parameter(scheme: scheme, name: name, value: content))
                }
                isAfterScheme = false
            } else if isToken, !isAfterScheme {
                schemes.append(name)
                isAfterScheme = true
            } else {
                isAfterScheme = false
            }
        }
    }

    /// Returns whether there is a challenge of `scheme`, which matches in any case.
    package func offers(_ scheme: String) -> Bool { schemes.contains(scheme.bytewise.lowercased) }

    /// Returns the unquoted value of a parameter in a challenge of `scheme`; both names match in any case.
    package func value(of name: String, scheme: String) -> String? {
        values(of: name, scheme: scheme).first
    }

    /// Returns the values of a parameter that may be repeated, in order.
    package func values(of name: String, scheme: String) -> [String] {
        parameters.filter {
            $0.scheme == scheme.bytewise.lowercased && $0.name == name.bytewise.lowercased
        }
        .map(\.value)
    }

    /// Returns the text after an equals sign and the blanks around it, or `nil` if `text` does not begin so.
    private static func assigned(in text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let rest = text.drop(while: isBlank)
        return rest.first == UInt8(ascii: "=") ? rest.dropFirst().drop(while: isBlank) : nil
    }

    /// Removes the value of a parameter from `rest` and returns it, or `nil` if there is none.
    private static func takeValue(_ rest: inout ArraySlice<UInt8>) -> String? {
        if rest.first == UInt8(ascii: "\"") { return takeQuoted(&rest) }
        if let value = takeInApostrophes(&rest) { return value }
        // The value ends at a comma, or where another parameter begins.
        var value = rest.prefix { $0 != UInt8(ascii: ",") }
        var next = value
        while let blank = next.firstIndex(where: isBlank) {
            next = next[blank...].drop(while: isBlank)
            guard assigned(in: next.drop(while: \.isTokenByte)) != nil else { continue }
            value = value[..<blank]
            break
        }
        rest = rest[value.endIndex...]
        // Otherwise this is the end of a `token68`.
        guard !value.isEmpty, value.first != UInt8(ascii: "=") else { return nil }
        return String(decoding: value.trimmedOfBlanks, as: UTF8.self)
    }

    /// Takes a quoted string, in which a backslash quotes the character after it (RFC 9110 §5.6.4).
    private static func takeQuoted(_ rest: inout ArraySlice<UInt8>) -> String {
        var value: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            value.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return String(decoding: value, as: UTF8.self)
    }

    /// Takes a value between apostrophes, or returns `nil` if there is none.
    private static func takeInApostrophes(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard rest.first == UInt8(ascii: "'"),
            let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "'")),
            rest[(end + 1)...].first.map({ isBlank($0) || $0 == UInt8(ascii: ",") }) ?? true
        else { return nil }
        defer { rest = rest[(end + 1)...] }
        return String(decoding: rest[..<end].dropFirst(), as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
