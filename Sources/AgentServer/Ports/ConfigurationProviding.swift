// SPDX-License-Identifier: MIT

/// Reads the configuration anew, for a reload.
///
/// Everything here may block on the disk.
package protocol ConfigurationProviding: Sendable {
    /// Reads and checks the configuration file and puts it in force for everything outside the agent.
    ///
    /// - Throws: ``RequestFailure`` naming file, line and key; the old configuration then stays in force.
    func load() throws(RequestFailure) -> LoadedConfiguration

    /// What ``load()`` would put in force; nothing is changed.
    /// - Throws: as ``load()`` does.
    func preview() throws(RequestFailure) -> AgentConfiguration

    /// What ``load()`` would change; nothing is changed.
    /// - Throws: as ``load()`` does.
    func changes() throws(RequestFailure) -> ConfigurationChanges

    /// Whether the file or its directory has changed since the last call of this or ``load()``, or the start.
    func hasChanged() -> Bool
}

/// A configuration that has been put in force.
package struct LoadedConfiguration: Equatable, Sendable {
    package var configuration: AgentConfiguration
    /// How it differs from the one before.
    package var changes: ConfigurationChanges

    package init(_ configuration: AgentConfiguration, _ changes: ConfigurationChanges) {
        self.configuration = configuration
        self.changes = changes
    }
}
