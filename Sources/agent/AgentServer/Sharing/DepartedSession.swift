// SPDX-License-Identifier: MIT

import TokenCore

/// A session with which this host has left the fleet: the user logged out on this host only.
struct DepartedSession {
    /// The record read from etcd when the latest login here began, or `nil` if no login has begun.
    var readResult: FleetReadResult?

    /// Returns the fleet state for a login that brings this host back, made from the record read from etcd.
    ///
    /// With this state the new login counts as later than the login in ``readResult``.
    ///
    /// - Returns: The state, or `nil` if etcd was not read or has no record.
    func keeping(_ binding: FleetLoginSettings) -> SessionFleetState? {
        guard let readResult, let record = readResult.view.record else { return nil }
        var memory = FleetPersistentState()
        memory.record = record
        memory.place = readResult.view.place
        return SessionFleetState(memory: memory, attempt: nil, epoch: readResult.epoch, binding: binding)
    }
}
