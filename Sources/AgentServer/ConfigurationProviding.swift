// SPDX-License-Identifier: MIT

/// Reads the configuration anew, for a reload.
package protocol ConfigurationProviding: Sendable {
    /// Reads and checks the configuration file and puts it in force for everything outside the agent.
    ///
    /// May block on the disk.
    /// - Throws: ``RequestFailure`` naming file, line and key; the old configuration then stays in force.
    func load() throws(RequestFailure) -> AgentConfiguration
}
