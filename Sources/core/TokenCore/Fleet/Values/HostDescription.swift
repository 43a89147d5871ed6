// SPDX-License-Identifier: MIT

/// A host of the fleet, as it describes itself to the others.
package struct HostDescription: Hashable, Sendable {
    /// The host's random number (``AttemptID/host``).
    package var id: UInt64
    package var role: FleetRole
    /// The host's name for display.
    package var label: String
    package var version: String
    /// The time at which the host last wrote its description, by etcd's clock.
    ///
    /// The host does so every hour.
    package var seen: FleetTime

    package init(id: UInt64, role: FleetRole, label: String, version: String, seen: FleetTime) {
        self.id = id
        self.role = role
        self.label = label
        self.version = version
        self.seen = seen
    }
}
