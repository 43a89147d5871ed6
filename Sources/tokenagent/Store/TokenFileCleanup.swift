// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer

/// Removes the token files that a killed agent left; for `ExecStopPost=` of its unit.
enum TokenFileCleanup {
    /// Does nothing while an agent uses the store: that one looks after its files.
    ///
    /// - Throws: ``StartFailure`` with a line about each file that is still there, or about an agent that does not end.
    static func remove(_ places: AgentLocations) throws(StartFailure) {
        let directory = places.stateDirectory
        guard (try? PrivateDirectory.check(directory)) != nil, let claim = try StoreReservation(directory)
        else {
            return
        }
        let complaints = TokenFileLedger(stateDirectory: directory).removeFiles()
        // No agent has begun to write others meanwhile.
        _ = consume claim
        guard !complaints.isEmpty else { return }
        var failure = StartFailure(.internal, "")
        failure.lines = complaints
        throw failure
    }
}
