// SPDX-License-Identifier: MIT

import Text

/// Escaping for foreign text, so that no server can control the terminal.
package enum TerminalText {
    /// The maximum number of characters shown of one text: enough for a sentence and a URL.
    package static let longest = 500

    /// Escapes everything but printable ASCII and cuts the result to `longest` characters.
    package static func escaped(_ text: some StringProtocol, longest: Int = longest) -> String {
        var result = ""
        for scalar in text.unicodeScalars.prefix(longest) {
            switch scalar.value {
            case 0x20..<0x7F: result.unicodeScalars.append(scalar)
            case 0x09, 0x0A, 0x0D: result += " "
            default: result += "\\u{" + String(scalar.value, radix: 16) + "}"
            }
        }
        guard text.unicodeScalars.count > longest || result.utf8.count > longest else { return result }
        return result.prefix(longest - 3) + "..."
    }

    /// Breaks `text` at blanks into lines of at most `width` characters; a longer word has a line of its own.
    package static func wrapped(_ text: String, to width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            if let last = lines.last, last.utf8.count + 1 + word.utf8.count <= width {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }

    /// Formats `value` as one line of printable ASCII, with all other characters as `\u` escapes.
    package static func ascii(_ value: JSONValue) -> [UInt8] {
        var result: [UInt8] = []
        for scalar in value.text.unicodeScalars {
            if scalar.isASCII {
                result.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    result += Array(
                        ("\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits).utf8
                    )
                }
            }
        }
        return result
    }
}
