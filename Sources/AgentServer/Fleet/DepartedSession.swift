// SPDX-License-Identifier: MIT

import TokenCore

/// A session that the user has logged out at this host only.
struct DepartedSession {
    /// The record read from etcd when the latest login here began, or `nil` if no login has begun.
    var sight: FleetReadResult?

    /// Returns the fleet state to start with when a login brings this host back.
    ///
    /// With this state the new login counts as later than the login in ``sight``.
    ///
    /// - Returns: The state, or `nil` if etcd was not read or has no record.
    func keeping(_ binding: FleetBinding) -> FleetKeeping? {
        guard let sight, let record = sight.view.record else { return nil }
        var memory = FleetPersistentState()
        memory.record = record
        memory.place = sight.view.place
        return FleetKeeping(memory: memory, attempt: nil, epoch: sight.epoch, binding: binding)
    }
}
