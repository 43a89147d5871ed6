// SPDX-License-Identifier: MIT

/// What a server asks for when it refuses a request: the fields `WWW-Authenticate` (RFC 9110 §11.6.1).
package struct Challenges {
    private struct Parameter {
        var scheme: ByteText
        var name: ByteText
        var value: Substring
    }

    private var parameters: [Parameter] = []

    /// Parameters that are read; what comes after them is not looked at.
    private static let mostElements = 100

    /// Bytes of the longest text that is read; fields of a request or an answer are shorter.
    private static let longest = 64 << 10

    /// Reads the fields, joined by commas; a text that is too long asks for nothing.
    package init(_ text: String) {
        guard text.utf8.count <= Challenges.longest else { return }
        var scheme: ByteText = ""
        for element in Challenges.elements(of: text) {
            // A scheme stands before its first parameter; the name of a parameter before an equals sign.
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

    /// The value of a parameter, without quotes, in a challenge of the scheme; both names in any case.
    package func value(of name: String, scheme: String) -> String? {
        values(of: name, scheme: scheme).first
    }

    /// The values of a parameter that is given more than once, in their order.
    package func values(of name: String, scheme: String) -> [String] {
        let found = parameters.filter {
            $0.scheme == scheme.bytewise.lowercased && $0.name == name.bytewise.lowercased
        }
        return found.map(\.value.utf8).map { value in
            let isQuoted = value.first == UInt8(ascii: "\"")
            return String(Substring(isQuoted ? value.dropFirst().dropLast() : value))
        }
    }

    /// What commas separate, except those within quotes.
    private static func elements(of text: String) -> [Substring.UTF8View] {
        var isQuoted = false
        var isEscaped = false
        let elements = text.utf8.split(maxSplits: mostElements) { byte in
            defer { isEscaped = isQuoted && byte == UInt8(ascii: "\\") && !isEscaped }
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            return byte == UInt8(ascii: ",") && !isQuoted
        }
        return elements.prefix(mostElements).map(trimmed).filter { !$0.isEmpty }
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
