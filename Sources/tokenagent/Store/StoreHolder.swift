// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// Finds out who uses a store, without disturbing it.
enum StoreHolder {
    static func exists(_ stateDirectory: String) -> Bool {
        StoreLockFile(of: stateDirectory)?.isHeld == true
    }

    /// The agent that uses the store, if it answers at the socket noted in the lock file and says so.
    ///
    /// A note that is missing, old or forged leads to nobody, or to an agent that says something else.
    static func agent(of stateDirectory: String) -> RunningAgent? {
        guard let socket = StoreLockFile(of: stateDirectory)?.note?.socket,
            let agent = try? RunningAgent.find(socket: socket), agent.uses(stateDirectory)
        else { return nil }
        return agent
    }
}
