// SPDX-License-Identifier: MIT

/// Where something stands in a TOML text.
package struct TOMLPosition: Comparable, Sendable {
    /// Counted from 1.
    package var line: Int
    /// Bytes from the start of the line, counted from 1.
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package static func < (left: TOMLPosition, right: TOMLPosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// Why bytes are not the TOML we accept, and where that became certain.
package struct TOMLError: Error, Equatable, Sendable {
    package let position: TOMLPosition
    /// A clause for a person, without the position: "a value is missing after =".
    package let message: String
}
