// SPDX-License-Identifier: MIT

/// What a server asks for instead of a refused request: the fields `WWW-Authenticate` (RFC 9110 §11.6.1).
struct Challenges {
    private struct Parameter {
        var scheme: Substring
        var name: Substring
        var value: Substring
    }

    private var parameters: [Parameter] = []

    /// Reads the fields, joined by commas.
    init(_ text: String) {
        var scheme: Substring = ""
        for element in Challenges.elements(of: text) {
            // A scheme stands before its first parameter; the name of a parameter before an equals sign.
            let first = element.prefix { $0 != " " && $0 != "\t" && $0 != "=" }
            let rest = element[first.endIndex...].drop { $0 == " " || $0 == "\t" }
            var parameter = element
            if rest.first != "=" { (scheme, parameter) = (first, rest) }
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let trimmed = parts.map(Challenges.trimmed)
            parameters.append(Parameter(scheme: scheme, name: trimmed[0], value: trimmed[1]))
        }
    }

    /// The value of a parameter, without quotes, in a challenge of the scheme; both names in any case.
    func value(of name: String, scheme: String) -> String? {
        let found = parameters.first {
            $0.scheme.lowercased() == scheme.lowercased() && $0.name.lowercased() == name.lowercased()
        }
        guard let value = found?.value else { return nil }
        return String(value.hasPrefix("\"") ? value.dropFirst().dropLast() : value)
    }

    /// What commas separate, except those within quotes.
    private static func elements(of text: String) -> [Substring] {
        var isQuoted = false
        var isEscaped = false
        let elements = text.split { character in
            defer { isEscaped = isQuoted && character == "\\" && isEscaped == false }
            if character == "\"", isEscaped == false { isQuoted.toggle() }
            return character == "," && isQuoted == false
        }
        return elements.map(trimmed).filter { $0.isEmpty == false }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
