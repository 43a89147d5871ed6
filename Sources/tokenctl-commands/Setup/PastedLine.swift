// SPDX-License-Identifier: MIT

import CommandCore

/// A line on the terminal that a person may paste into a shell or a file.
enum PastedLine {
    /// More than any line of a configuration that a person wrote.
    private static let longest = 8192

    /// The line with all that can be seen as it is; what would act on the terminal, or hide, is written as an escape.
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
