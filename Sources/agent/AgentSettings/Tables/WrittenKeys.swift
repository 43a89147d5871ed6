// SPDX-License-Identifier: MIT

import TOML

/// The keys of a table, each with a hash of its value, by which a changed key is named.
///
/// The values themselves are not kept. Hashes are comparable within one process only.
package struct WrittenKeys: Equatable, Sendable {
    private var hashes: [String: Int] = [:]

    init() {}

    /// Records the keys of `table` except `secret`, of which only the presence counts.
    init(_ table: TOMLTable, without secret: String) {
        for entry in table.entries {
            var hasher = Hasher()
            if entry.key != secret { entry.value.hash(into: &hasher) }
            hashes[entry.key] = hasher.finalize()
        }
    }

    /// Returns the keys that are written in one of the two tables only, or with another value; sorted.
    func keys(differingFrom old: WrittenKeys) -> [String] {
        Set(hashes.keys).union(old.hashes.keys).filter { hashes[$0] != old.hashes[$0] }.sorted()
    }
}

extension TOMLValue {
    /// Adds the value, wherever it is written.
    fileprivate func hash(into hasher: inout Hasher) {
        switch content {
        case .string(let text): hasher.combine(text)
        case .integer(let number): hasher.combine(number)
        case .float(let number): hasher.combine(number)
        case .boolean(let value): hasher.combine(value)
        case .dateTime: hasher.combine(0)
        case .array(let elements):
            hasher.combine(elements.count)
            for element in elements { element.hash(into: &hasher) }
        case .table(let table):
            hasher.combine(table.entries.count)
            for entry in table.entries {
                hasher.combine(entry.key)
                entry.value.hash(into: &hasher)
            }
        }
    }
}
