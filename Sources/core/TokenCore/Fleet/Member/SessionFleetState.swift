// SPDX-License-Identifier: MIT

/// The fleet data that a host stores in a session's own record on disk.
///
/// It is written with the session's tokens in one step. A crash leaves a response together with its required
/// action, or neither.
package struct SessionFleetState: Equatable, Sendable {
    package var memory: FleetPersistentState
    /// The attempt that obtained the session's tokens, or `nil` if the session has none.
    package var attempt: AttemptID?
    /// The tokens of the other attempts that ``memory`` names, sealed under the fleet's key.
    package var others: [AttemptID: [UInt8]]
    /// The highest epoch of the fleet's keys with which this host has opened a value of the session.
    package var epoch: UInt32
    /// The settings with which the session got its tokens, or `nil` if an older release wrote the state.
    package var binding: FleetLoginSettings?

    package init(
        memory: FleetPersistentState,
        attempt: AttemptID?,
        others: [AttemptID: [UInt8]] = [:],
        epoch: UInt32,
        binding: FleetLoginSettings? = nil
    ) {
        self.memory = memory
        self.attempt = attempt
        self.others = others
        self.epoch = epoch
        self.binding = binding
    }
}
