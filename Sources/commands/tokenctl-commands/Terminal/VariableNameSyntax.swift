// SPDX-License-Identifier: MIT

import Text

/// The syntax of a variable name that a shell accepts.
enum VariableNameSyntax {
    static func isValid(_ name: String) -> Bool {
        let bytes = name.utf8
        return bytes.first.map { !$0.isASCIIDigit } ?? false
            && bytes.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "_") }
    }
}
