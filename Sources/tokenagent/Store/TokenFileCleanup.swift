// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer

/// The removal of token files left by a killed agent, for `ExecStopPost=` of its unit.
enum TokenFileCleanup {
    /// Removes the files.
    ///
    /// Does nothing while an agent uses the store, as that agent manages its files.
    ///
    /// - Throws: ``StartFailure`` with a line about each remaining file, or about an agent that does not end.
    static func remove(_ places: AgentLocations) throws(StartFailure) {
        let directory = places.stateDirectory
        guard (try? PrivateDirectory.check(directory)) != nil, let claim = try AgentStartBlocker(directory)
        else {
            return
        }
        let complaints = TokenFileLedger(stateDirectory: directory).removeFiles()
        // Until here no agent could start and write new files.
        _ = consume claim
        guard !complaints.isEmpty else { return }
        var failure = StartFailure(.internal, "")
        failure.lines = complaints
        throw failure
    }
}
