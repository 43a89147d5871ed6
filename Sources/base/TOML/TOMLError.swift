// SPDX-License-Identifier: MIT

/// A position in a TOML text.
package struct TOMLPosition: Comparable, Sendable {
    /// The line, counted from 1.
    package var line: Int
    /// The column in bytes, counted from 1.
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package static func < (left: TOMLPosition, right: TOMLPosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// The reason bytes are not accepted as TOML, with the position at which this was detected.
package struct TOMLError: Error, Equatable, Sendable {
    package let position: TOMLPosition
    /// A clause for the user, without the position: "unexpected text at end of line".
    package let message: String
}
