// SPDX-License-Identifier: MIT

import CommandCore

/// A line on the terminal that a user may paste into a shell or a file.
enum PasteableLine {
    /// The maximum number of characters, more than any line of a configuration written by hand.
    private static let longest = 8192

    /// Returns the line with its visible characters unchanged.
    ///
    /// Characters that would control the terminal, or are invisible, become escapes.
    static func text(_ line: String) -> String {
        var result = ""
        for scalar in line.unicodeScalars.prefix(longest) {
            if isVisible(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                result += TerminalText.escaped(String(scalar))
            }
        }
        return line.unicodeScalars.count > longest ? result + "..." : result
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            false
        default: true
        }
    }
}
