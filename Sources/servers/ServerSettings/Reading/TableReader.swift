// SPDX-License-Identifier: MIT

import AgentProtocol
import TOML
import Text

/// A reader of the keys of one table as typed values.
///
/// An invalid value is reported to the problem list and read as absent.
package struct TableReader {
    /// The name of the table, such as `session.work`; empty for the file itself.
    package let path: String
    /// The position of the table, used for missing keys.
    package let position: TOMLPosition
    package var problems: ProblemCollector
    private var table: TOMLTable
    private var known: [String] = []
    /// The keys that a provider file has provided.
    private var provided: Set<String> = []
    /// The number of keys that most readers ask for.
    private static let usualKeys = 32

    package init(_ table: TOMLTable, path: String, at position: TOMLPosition, problems: ProblemCollector) {
        self.table = table
        self.path = path
        self.position = position
        self.problems = problems
    }

    package func name(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    /// Returns whether `key` is set, whatever its value.
    package func has(_ key: String) -> Bool { table[key] != nil }

    /// Returns the position of `key`, or of the table if the key is not set.
    package func position(of key: String) -> TOMLPosition {
        table.entries.first { $0.key == key }?.position ?? position
    }

    package func report(_ key: String, _ message: String) {
        problems.add(name(of: key), at: position(of: key), message)
    }

    /// Reports an error with the step that helps.
    package func report(_ key: String, _ message: String, _ remedy: Remedy) {
        report(key, "\(message) \(remedy.parenthesized)")
    }

    /// Reports every key that was not read; call this last.
    package func refuseUnknownKeys() {
        for entry in table.entries where !known.contains(entry.key) {
            let nearest = WordSuggestion.question(about: entry.key, among: known)
            problems.add(name(of: entry.key), at: entry.position, "unknown key\(nearest)")
        }
    }

    /// Reports every key that was not read, all with the same message.
    package func refuseAllElse(_ message: String) {
        for entry in table.entries where !known.contains(entry.key) {
            problems.add(name(of: entry.key), at: entry.position, message)
        }
    }

    /// Reports those of `keys` that are set although they have no meaning in this table.
    ///
    /// - Parameters:
    ///   - keys: the keys.
    ///   - reason: completes "has no effect: …".
    package mutating func refuse(_ keys: some Sequence<String>, _ reason: String) {
        for key in keys where value(key) != nil && !provided.contains(key) {
            report(key, "has no effect: \(reason)")
        }
    }

    /// Reports an error if more than one of `keys` is set.
    ///
    /// - Returns: `true` if at most one is.
    @discardableResult
    package func permitsOne(of keys: [String]) -> Bool {
        let written = keys.filter { has($0) }
        guard written.count > 1 else { return true }
        report(written[1], "mutually exclusive: \(written.joined(separator: ", "))")
        return false
    }

    /// Adds the keys of a provider, which are reported at `position`.
    package mutating func provide(_ entries: [TOMLTable.Entry], at position: TOMLPosition) {
        provided = Set(entries.map(\.key))
        table = TOMLTable(
            entries: table.entries
                + entries.map {
                    TOMLTable.Entry(
                        key: $0.key,
                        position: position,
                        value: TOMLValue($0.value.content, at: position)
                    )
                }
        )
    }

    /// The keys of this table with hashes of their values, except `client_secret`.
    package var written: TableValueHashes { TableValueHashes(table, without: "client_secret") }

    // MARK: Values

    package mutating func value(_ key: String) -> TOMLValue? {
        if known.isEmpty { known.reserveCapacity(TableReader.usualKeys) }
        known.append(key)
        return table[key]
    }

    /// Reads the value of `key` with `convert`, which returns `nil` for a wrong type.
    private mutating func read<Value>(
        _ key: String,
        as expected: String,
        _ convert: (TOMLValue) -> Value?
    ) -> Value? {
        guard let value = value(key) else { return nil }
        if let converted = convert(value) { return converted }
        problems.add(name(of: key), at: value.position, "must be \(expected), not \(value.kind)")
        return nil
    }

    package mutating func boolean(_ key: String) -> Bool? {
        read(key, as: "true or false") { if case .boolean(let value) = $0.content { value } else { nil } }
    }

    /// Reads a string, which must not be empty.
    package mutating func string(_ key: String) -> String? {
        let text: String? = read(key, as: "a string") { $0.text }
        guard let text, text.isEmpty || text.utf8.contains(0) else { return text }
        report(key, "must not be empty or contain a NUL character")
        return nil
    }

    /// Reads a string that the table requires.
    package mutating func required(_ key: String, _ purpose: String) -> String? {
        if !has(key) { report(key, "required: \(purpose)") }
        return string(key)
    }

    package mutating func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        let number: Int64? = read(key, as: "an integer") {
            if case .integer(let value) = $0.content { value } else { nil }
        }
        guard let number else { return nil }
        guard let value = Int(exactly: number), range.contains(value) else {
            report(key, "must be \(range.lowerBound) to \(range.upperBound), not \(number)")
            return nil
        }
        return value
    }

    /// Reads a duration such as `"5m"` within the limits of the key.
    package mutating func duration(
        _ key: String,
        in range: ClosedRange<Duration>,
        _ limits: String
    ) -> Duration? {
        let text: String? = read(key, as: "a duration such as \"5m\" or \"1h30m\"") { $0.text }
        guard let text else { return nil }
        guard let duration = DurationText.parse(text) else {
            report(
                key,
                "\"\(text)\" is not a duration; write a number and a unit (s, m, h, d), such as \"90s\""
            )
            return nil
        }
        guard range.contains(duration) else {
            report(key, "must be \(limits), not \"\(text)\"")
            return nil
        }
        return duration
    }

    /// Reads one of a fixed set of words.
    package mutating func word<Word: RawRepresentable & CaseIterable>(_ key: String, _: Word.Type) -> Word?
    where Word.RawValue == String {
        guard let text = string(key) else { return nil }
        return Word(word: text) { report(key, $0) }
    }

    /// Reads a list of non-empty strings.
    package mutating func strings(_ key: String) -> [String]? {
        let elements: [TOMLValue]? = read(key, as: "an array of strings") {
            if case .array(let elements) = $0.content { elements } else { nil }
        }
        guard let elements else { return nil }
        let texts = elements.compactMap(\.text).filter { !$0.isEmpty && !$0.utf8.contains(0) }
        guard texts.count == elements.count else {
            let culprit = elements.first { ($0.text ?? "").isEmpty || ($0.text ?? "").utf8.contains(0) }
            problems.add(name(of: key), at: culprit?.position, "must contain only non-empty strings")
            return nil
        }
        return texts
    }

    /// Reads words from an array, or from one string in which spaces separate them.
    package mutating func words(_ key: String) -> [String]? {
        guard case .string? = table[key]?.content else { return strings(key) }
        return string(key)?.split(separator: " ").map(String.init)
    }

    /// Reads every key of this table with its text, which may be empty; other values are reported.
    package mutating func texts() -> [String: String] {
        var texts: [String: String] = [:]
        for entry in table.entries {
            let text: String? = read(entry.key, as: "a string") { $0.text }
            texts[entry.key] = text
        }
        return texts
    }

    /// Reads a table inside this one, all of whose values are texts, or returns an empty one.
    package mutating func texts(_ key: String) -> [String: String] {
        var inner = table(key)
        return inner?.texts() ?? [:]
    }

    /// Reads a program and its arguments, never a shell command line.
    package mutating func command(_ key: String) -> [String]? {
        if case .string? = table[key]?.content {
            known.append(key)
            report(
                key,
                "must be an array of the program and its arguments, such as [\"pass\", \"show\", \"x\"]"
            )
            return nil
        }
        guard let command = strings(key) else { return nil }
        guard !command.isEmpty else {
            report(key, "must name a program")
            return nil
        }
        return command
    }

    /// Reads a table inside this one.
    package mutating func table(_ key: String) -> TableReader? {
        let value = table[key]
        let inner: TOMLTable? = read(key, as: "a table") {
            if case .table(let table) = $0.content { table } else { nil }
        }
        guard let inner, let value else { return nil }
        return TableReader(inner, path: name(of: key), at: value.position, problems: problems)
    }

    /// Reads an array of tables, each written with the header `example`.
    package mutating func tableArray(_ key: String, _ example: String) -> [TableReader] {
        let elements: [TOMLValue]? = read(key, as: "tables, each beginning with \(example)") {
            if case .array(let elements) = $0.content { elements } else { nil }
        }
        return (elements ?? []).compactMap { element in
            guard case .table(let inner) = element.content else {
                let message = "must contain tables, each beginning with \(example), not \(element.kind)"
                problems.add(name(of: key), at: element.position, message)
                return nil
            }
            return TableReader(inner, path: name(of: key), at: element.position, problems: problems)
        }
    }

    /// The number of keys in this table.
    package var count: Int { table.entries.count }

    /// The entries of this table, for tables with arbitrary keys.
    package var entries: [TOMLTable.Entry] { table.entries }

    /// Returns a reader of `inner`, the value of `entry`.
    package func reader(of inner: TOMLTable, at entry: TOMLTable.Entry) -> TableReader {
        TableReader(inner, path: name(of: entry.key), at: entry.value.position, problems: problems)
    }

    /// Reads every key of this table with a reader of its value; values that are not tables are reported.
    package mutating func tables(_ purpose: String) -> [(key: String, reader: TableReader)] {
        table.entries.compactMap { entry in
            known.append(entry.key)
            guard case .table(let inner) = entry.value.content else {
                problems.add(
                    name(of: entry.key),
                    at: entry.position,
                    "must be \(purpose), not \(entry.value.kind)"
                )
                return nil
            }
            return (entry.key, reader(of: inner, at: entry))
        }
    }
}

extension TOMLValue {
    package var text: String? {
        if case .string(let text) = content { text } else { nil }
    }
}

extension RawRepresentable where Self: CaseIterable, RawValue == String {
    /// Creates the case spelled `word`, or reports the valid words and returns `nil`.
    package init?(word: String, report: (String) -> Void) {
        if let value = Self(rawValue: word) {
            self = value
            return
        }
        let words = Self.allCases.map(\.rawValue)
        let nearest = WordSuggestion.question(about: word, among: words)
        report("\"\(word)\" is not one of \(words.joined(separator: ", "))\(nearest)")
        return nil
    }
}
