// SPDX-License-Identifier: MIT

/// Where something stands in a TOML text.
struct TOMLPosition: Comparable, Sendable {
    /// Counted from 1.
    var line: Int
    /// Bytes from the start of the line, counted from 1.
    var column: Int

    static func < (left: TOMLPosition, right: TOMLPosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// Why bytes are not the TOML we accept, and where that became certain.
struct TOMLError: Error, Equatable, Sendable {
    let position: TOMLPosition
    /// A clause for a person, without the position: "a value is missing after =".
    let message: String
}
