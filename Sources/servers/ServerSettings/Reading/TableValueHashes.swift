// SPDX-License-Identifier: MIT

import TOML

/// The keys of a table, each with a hash of its value, by which a changed key is named.
///
/// The values themselves are not kept. Hashes are comparable within one process only.
package struct TableValueHashes: Equatable, Sendable {
    private var hashes: [String: Int] = [:]

    package init() {}

    /// Records the keys of `table` except `secret`, of which only the presence counts.
    package init(_ table: TOMLTable, without secret: String) {
        for entry in table.entries {
            var hasher = Hasher()
            if entry.key != secret { hasher.combine(entry.value.json.text) }
            hashes[entry.key] = hasher.finalize()
        }
    }

    /// Returns the keys that are written in one of the two tables only, or with another value; sorted.
    package func keys(differingFrom old: TableValueHashes) -> [String] {
        Set(hashes.keys).union(old.hashes.keys).filter { hashes[$0] != old.hashes[$0] }.sorted()
    }
}
