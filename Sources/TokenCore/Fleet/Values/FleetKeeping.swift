// SPDX-License-Identifier: MIT

/// What a host keeps of the fleet in a session's own record on disk.
///
/// It is written with the session's tokens in one step, so a crash leaves an answer together with what has to become of
/// it, or neither.
package struct FleetKeeping: Equatable, Sendable {
    package var memory: FleetPersistentState
    /// Who brought the session's own tokens; `nil`: there are none.
    package var attempt: AttemptID?
    /// Tokens of the other attempts that the memory names, sealed under the fleet's key.
    package var others: [AttemptID: [UInt8]]
    /// The highest epoch of the fleet's keys that this host has seen a value of the session under.
    package var epoch: UInt32
    /// With which settings the session got its tokens; `nil`: a release before this field wrote it.
    package var binding: FleetBinding?

    package init(
        memory: FleetPersistentState,
        attempt: AttemptID?,
        others: [AttemptID: [UInt8]] = [:],
        epoch: UInt32,
        binding: FleetBinding? = nil
    ) {
        self.memory = memory
        self.attempt = attempt
        self.others = others
        self.epoch = epoch
        self.binding = binding
    }
}
