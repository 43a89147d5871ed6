// SPDX-License-Identifier: MIT

import Text

/// Makes text from elsewhere safe to show, so that no server can control the terminal.
package enum TerminalText {
    /// Most characters shown of one text: enough for a sentence and an address.
    package static let longest = 500

    /// Printable ASCII; everything else is written as an escape, and what is too long is cut.
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

    /// JSON on one line whose every byte is printable ASCII: the same value, other characters as `\u` escapes.
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
