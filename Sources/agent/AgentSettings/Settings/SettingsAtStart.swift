// SPDX-License-Identifier: MIT

/// The tables that are read only at the agent's start, as they were then.
package struct SettingsAtStart: Sendable {
    private let vault: VaultSettings
    private let fleet: FleetSettings?

    package init(_ settings: Settings) {
        vault = settings.vault
        fleet = settings.fleet
    }

    /// Returns the keys of `settings` that differ, which take effect only after a restart.
    package func keys(changedIn settings: Settings) -> [String] {
        let vaultKeys = settings.vault.keys(differingFrom: vault)
        guard settings.fleet != fleet else { return vaultKeys }
        return vaultKeys + (settings.fleet?.keys(differingFrom: fleet) ?? ["fleet"])
    }
}
