// SPDX-License-Identifier: MIT

import TOMLKit

extension TOMLTable {
    /// Reads a whole TOML text.
    ///
    /// TOMLKit says what the text means but not where; ``KeyLocator`` adds the places.
    ///
    /// - Throws: the first ``TOMLError``.
    package init(parsing bytes: [UInt8]) throws(TOMLError) {
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw TOMLError(
                position: TOMLPosition(line: 1, column: 1),
                message: "the text is not UTF-8 without NUL"
            )
        }
        var bounds = TOMLBounds(bytes)
        try bounds.check()
        let document = try TOMLTable.parse(text)
        // The library does not release the tree by itself, and it may hold a client secret.
        defer { document.clear() }
        var locator = KeyLocator(bytes)
        let places = locator.locate()
        self = TOMLReader.table(document, places, places.position)
    }

    private static func parse(_ text: String) throws(TOMLError) -> TOMLKit.TOMLTable {
        do {
            return try TOMLKit.TOMLTable(string: text)
        } catch let error as TOMLParseError {
            let begin = error.source.begin
            throw TOMLError(
                position: TOMLPosition(line: begin.line, column: begin.column),
                message: TOMLTable.clause(error.description)
            )
        } catch {
            throw TOMLError(position: TOMLPosition(line: 1, column: 1), message: "the text is not TOML")
        }
    }

    /// The library's sentence as a clause of ours: one line, no full stop, without the secret a line may hold.
    private static func clause(_ description: String) -> String {
        let line =
            description.split(whereSeparator: \.isNewline).first.map(String.init) ?? "the text is not TOML"
        return line.hasSuffix(".") ? String(line.dropLast()) : line
    }
}

/// Joins what the library read with where it was written.
///
/// Keys of inline tables have no place of their own: the outer key's position is near enough.
private enum TOMLReader {
    static func table(_ table: TOMLKit.TOMLTable, _ place: KeyPlace?, _ position: TOMLPosition) -> TOMLTable {
        let entries = table.map { key, value in
            let inner = place?.members[key]
            let position = inner?.position ?? position
            return TOMLTable.Entry(key: key, position: position, value: self.value(value, inner, position))
        }
        return TOMLTable(entries: entries.sorted { $0.position < $1.position })
    }

    private static func value(
        _ value: any TOMLValueConvertible,
        _ place: KeyPlace?,
        _ position: TOMLPosition
    ) -> TOMLValue {
        TOMLValue(content(value, place, position), at: position)
    }

    private static func content(
        _ value: any TOMLValueConvertible,
        _ place: KeyPlace?,
        _ position: TOMLPosition
    ) -> TOMLValue.Content {
        switch value.type {
        case .string: .string(value.string ?? "")
        case .int: .integer(Int64(value.int ?? 0))
        case .double: .float(value.double ?? 0)
        case .bool: .boolean(value.bool ?? false)
        case .date, .time, .dateTime: .dateTime
        case .array: .array(elements(value, place, position))
        case .table: .table(value.table.map { table($0, place, position) } ?? TOMLTable(entries: []))
        }
    }

    private static func elements(
        _ value: any TOMLValueConvertible,
        _ place: KeyPlace?,
        _ position: TOMLPosition
    ) -> [TOMLValue] {
        (value.array.map(Array.init) ?? []).enumerated().map { index, element in
            let inner = place?.element(index)
            return self.value(element, inner, inner?.position ?? position)
        }
    }
}
