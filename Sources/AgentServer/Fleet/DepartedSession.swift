// SPDX-License-Identifier: MIT

import TokenCore

/// A session that a person has logged out at this host alone.
struct DepartedSession {
    /// What the fleet had of it when the latest login here began; `nil`: none has begun.
    var sight: FleetReadResult?

    /// What this host knows once a login brings it back, so that the login counts as later than the one it has seen.
    ///
    /// `nil`: nothing, or there is no record.
    func keeping(_ binding: FleetBinding) -> FleetKeeping? {
        guard let sight, let record = sight.view.record else { return nil }
        var memory = FleetPersistentState()
        memory.record = record
        memory.place = sight.view.place
        return FleetKeeping(memory: memory, attempt: nil, epoch: sight.epoch, binding: binding)
    }
}
