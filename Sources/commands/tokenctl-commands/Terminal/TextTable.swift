// SPDX-License-Identifier: MIT

import CommandCore

/// Tables with columns as wide as their widest cell and two blanks apart; empty columns are omitted.
///
/// At a terminal the last column is wrapped at words if the table would be wider than the screen.
enum TextTable {
    /// The least width of a last column that is wrapped.
    private static let minimumLastColumn = 16

    /// Returns the lines of the table, without trailing blanks, for a terminal with `screen` columns.
    static func lines(
        _ header: [String],
        _ rows: [[String]],
        fitting screen: Int? = StandardOutput.width
    ) -> [String] {
        let shown = header.indices.filter { column in rows.contains { !$0[column].isEmpty } }
        let table = ([header] + rows).map { row in shown.map { row[$0] } }
        let widths = shown.indices.map { column in table.map { $0[column].utf8.count }.max() ?? 0 }
        let indent = widths.dropLast().reduce(0) { $0 + $1 + 2 }
        let room = screen.map { max($0 - indent, minimumLastColumn) } ?? .max
        return table.flatMap { row in
            let last = TerminalText.wrapped(row.last ?? "", to: room)
            let start = zip(row.dropLast(), widths).map { padded($0, to: $1) + "  " }.joined()
            return last.enumerated().map { index, piece in
                var line = (index == 0 ? start : String(repeating: " ", count: indent)) + piece
                while line.last == " " { line.removeLast() }
                return line
            }
        }
    }

    /// Appends blanks to `text` up to `width` bytes.
    static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.utf8.count))
    }
}
