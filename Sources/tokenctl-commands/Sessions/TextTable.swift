// SPDX-License-Identifier: MIT

/// Tables with columns as wide as their widest cell and two blanks apart; empty columns are omitted.
enum TextTable {
    /// Returns the lines of the table, without trailing blanks.
    static func lines(_ header: [String], _ rows: [[String]]) -> [String] {
        let shown = header.indices.filter { column in rows.contains { !$0[column].isEmpty } }
        let table = ([header] + rows).map { row in shown.map { row[$0] } }
        let widths = shown.indices.map { column in table.map { $0[column].utf8.count }.max() ?? 0 }
        return table.map { row in
            var line = zip(row, widths).map { padded($0, to: $1) }.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    /// Appends blanks to `text` up to `width` bytes.
    static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.utf8.count))
    }
}
