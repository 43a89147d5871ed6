// SPDX-License-Identifier: MIT

import Synchronization

/// The command that restarts the agent, for the remedies that this process writes.
///
/// An agent that is started next to its unit has another store, or none of the unit's credentials, so an agent that is a
/// unit names the command of its unit. It sets that when it starts, before it writes any remedy.
package enum AgentRestart {
    private static let unit = Mutex<String?>(nil)

    /// The command that restarts the unit whose main process this agent is, or `nil` if this is no such agent.
    package static var ofUnit: String? {
        get { unit.withLock(\.self) }
        set { unit.withLock { $0 = newValue } }
    }

    /// The command that restarts the agent.
    package static var command: String { ofUnit ?? "tokenctl shutdown && tokenagent" }
}
