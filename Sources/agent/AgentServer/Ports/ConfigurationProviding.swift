// SPDX-License-Identifier: MIT

/// A reader of the configuration, for a reload.
///
/// All methods may block on the disk.
package protocol ConfigurationProviding: Sendable {
    /// Reads and checks the configuration, and applies it outside the agent.
    ///
    /// - Throws: ``RequestFailure`` with file, line and key; the previous configuration then stays active.
    func load() throws(RequestFailure) -> LoadedConfiguration

    /// Returns the configuration that ``load()`` would apply, without applying it.
    ///
    /// - Throws: The errors of ``load()``.
    func preview() throws(RequestFailure) -> AgentConfiguration

    /// Returns the changes that ``load()`` would make, without making them.
    ///
    /// - Throws: The errors of ``load()``.
    func changes() throws(RequestFailure) -> ConfigurationChanges

    /// Returns whether the file or its directory has changed since the last call of this method or
    /// ``load()``, or since the start.
    func hasChanged() -> Bool
}

/// A configuration that has been loaded and applied outside the agent.
package struct LoadedConfiguration: Equatable, Sendable {
    package var configuration: AgentConfiguration
    /// The changes from the previous configuration.
    package var changes: ConfigurationChanges

    package init(_ configuration: AgentConfiguration, _ changes: ConfigurationChanges) {
        self.configuration = configuration
        self.changes = changes
    }
}
