// SPDX-License-Identifier: MIT

/// A host of the fleet, as it tells the others about itself.
package struct HostDescription: Hashable, Sendable {
    /// Its random number (``AttemptID/host``).
    package var id: UInt64
    package var role: FleetRole
    /// What people call it.
    package var label: String
    package var version: String
    /// When it said so, in etcd's time; it does so again every hour.
    package var seen: FleetTime

    package init(id: UInt64, role: FleetRole, label: String, version: String, seen: FleetTime) {
        self.id = id
        self.role = role
        self.label = label
        self.version = version
        self.seen = seen
    }
}
