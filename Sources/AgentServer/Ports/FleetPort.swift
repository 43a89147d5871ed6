// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// What the agent needs to take part in a fleet.
package struct FleetPort: Sendable {
    /// What people call the fleet, and this host in it.
    package var name: String
    package var label: String
    package var role: FleetRole
    /// Opens the shared store with the fleet's keys; the agent closes it when it locks or stops.
    package var open: @Sendable () async throws(FleetStoreError) -> any FleetSharing
    /// This host's random number.
    package var host: UInt64
    /// How long an unanswered attempt of another host is waited for (``FleetTiming/patience``).
    package var patience: Duration

    package init(
        name: String,
        label: String,
        role: FleetRole,
        host: UInt64,
        patience: Duration,
        open: @escaping @Sendable () async throws(FleetStoreError) -> any FleetSharing
    ) {
        self.name = name
        self.label = label
        self.role = role
        self.host = host
        self.patience = patience
        self.open = open
    }

    /// Tells the others what this host is.
    ///
    /// - Returns: when, in etcd's time.
    @discardableResult
    func announce(to sharing: any FleetSharing) async throws(FleetStoreError) -> FleetTime {
        let time = try await sharing.learnTime()
        try await sharing.announce(
            HostDescription(id: host, role: role, label: label, version: AgentRelease.version, seen: time)
        )
        return time
    }
}

extension FleetSharing {
    /// etcd's time, which any answer tells.
    func learnTime() async throws(FleetStoreError) -> FleetTime {
        let trouble = time == nil ? await survey([]).trouble : nil
        guard let time else { throw trouble ?? FleetStoreError(.unavailable, "etcd's time is not known") }
        return time
    }
}
