// SPDX-License-Identifier: MIT

import ServerSettings

/// The tables that are read only at the agent's start, as they were then.
package struct SettingsAtStart: Sendable {
    private let written: [SettingsTable: TableValueHashes]

    package init(_ settings: Settings) {
        written = settings.written
    }

    /// Returns the keys of `settings` that differ, which take effect only after a restart: all of `[vault]` but
    /// `unlock_command`, and all of `[fleet]`.
    package func keys(changedIn settings: Settings) -> [String] {
        let late = [SettingsTable.vault, .fleet].flatMap { table -> [String] in
            let (before, now) = (written[table], settings.written[table])
            if table == .fleet, (before == nil) != (now == nil) { return [table.rawValue] }
            let keys = (now ?? TableValueHashes()).keys(differingFrom: before ?? TableValueHashes())
            return keys.map { "\(table.rawValue).\($0)" }
        }
        return late.filter { $0 != "vault.unlock_command" }
    }
}
