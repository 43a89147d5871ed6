// SPDX-License-Identifier: MIT

/// The challenges in `WWW-Authenticate` fields, with which a server rejects a request (RFC 9110 §11.6.1).
package struct Challenges {
    private struct Parameter {
        var scheme: ByteText
        var name: ByteText
        var value: Substring
    }

    private var parameters: [Parameter] = []

    /// The maximum number of parameters read; the rest is ignored.
    private static let maximumElements = 100

    /// The maximum size of the text in bytes; header fields are limited to less.
    private static let longest = 64 << 10

    /// Parses the fields, joined by commas.
    ///
    /// A text that is too long yields no challenges.
    package init(_ text: String) {
        guard text.utf8.count <= Challenges.longest else { return }
        var scheme: ByteText = ""
        for element in Challenges.elements(of: text) {
            // A scheme precedes its first parameter; a parameter's name precedes an equals sign.
            let first = element.prefix { !Challenges.isBlank($0) && $0 != UInt8(ascii: "=") }
            let rest = element[first.endIndex...].drop(while: Challenges.isBlank)
            var parameter = element
            if rest.first != UInt8(ascii: "=") {
                scheme = Substring(first).bytewise.lowercased
                parameter = rest
            }
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1).map(Challenges.trimmed)
            guard parts.count == 2 else { continue }
            parameters.append(
                Parameter(
                    scheme: scheme,
                    name: Substring(parts[0]).bytewise.lowercased,
                    value: Substring(parts[1])
                )
            )
        }
    }

    /// Returns the unquoted value of a parameter in a challenge of `scheme`; both names match in any case.
    package func value(of name: String, scheme: String) -> String? {
        values(of: name, scheme: scheme).first
    }

    /// Returns the values of a parameter that may be repeated, in order.
    package func values(of name: String, scheme: String) -> [String] {
        let found = parameters.filter {
            $0.scheme == scheme.bytewise.lowercased && $0.name == name.bytewise.lowercased
        }
        return found.map(\.value.utf8).map { value in
            let isQuoted = value.first == UInt8(ascii: "\"")
            return String(Substring(isQuoted ? value.dropFirst().dropLast() : value))
        }
    }

    /// Splits `text` at commas outside quotes.
    private static func elements(of text: String) -> [Substring.UTF8View] {
        var isQuoted = false
        var isEscaped = false
        let elements = text.utf8.split(maxSplits: maximumElements) { byte in
            defer { isEscaped = isQuoted && byte == UInt8(ascii: "\\") && !isEscaped }
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            return byte == UInt8(ascii: ",") && !isQuoted
        }
        return elements.prefix(maximumElements).map(trimmed).filter { !$0.isEmpty }
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        let start = text.drop(while: isBlank)
        guard let last = start.lastIndex(where: { !isBlank($0) }) else { return start.prefix(0) }
        return start[...last]
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
