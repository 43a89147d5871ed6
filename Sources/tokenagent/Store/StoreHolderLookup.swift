// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// The lookup of the agent that uses a store, without disturbing it.
enum StoreHolderLookup {
    static func exists(_ stateDirectory: String) -> Bool {
        StoreLockFile(of: stateDirectory)?.isHeld == true
    }

    /// Returns the agent that uses the store, if it answers at the socket in the lock file and confirms the
    /// store.
    ///
    /// If the lock file's contents are missing, old or forged, no agent answers, or one that names another
    /// store.
    static func agent(of stateDirectory: String) -> DiscoveredAgent? {
        guard let socket = StoreLockFile(of: stateDirectory)?.note?.socket,
            let agent = try? DiscoveredAgent.find(socket: socket), agent.uses(stateDirectory)
        else { return nil }
        return agent
    }
}
