// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// The agent's access to a fleet.
package struct FleetDependencies: Sendable {
    /// The fleet's name for the user.
    package var name: String
    /// The name of this host for the user.
    package var label: String
    package var role: FleetRole
    /// The function that opens the shared store with the fleet's keys; the agent closes the store when it
    /// locks or stops.
    package var open: @concurrent @Sendable () async throws(FleetStoreError) -> any FleetSharing
    /// The random number that identifies this host.
    package var host: UInt64
    /// The maximum wait for another host's unfinished attempt (``FleetTiming/takeoverTimeout``).
    package var takeoverTimeout: Duration

    package init(
        name: String,
        label: String,
        role: FleetRole,
        host: UInt64,
        takeoverTimeout: Duration,
        open: @escaping @concurrent @Sendable () async throws(FleetStoreError) -> any FleetSharing
    ) {
        self.name = name
        self.label = label
        self.role = role
        self.host = host
        self.takeoverTimeout = takeoverTimeout
        self.open = open
    }

    /// Publishes this host's description.
    ///
    /// - Returns: The time of the description, in etcd's time.
    /// - Throws: ``FleetStoreError`` if etcd cannot be used.
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
    /// Returns etcd's time, and reads from etcd first if no response has provided it yet.
    ///
    /// - Throws: ``FleetStoreError`` if the time is not available.
    func learnTime() async throws(FleetStoreError) -> FleetTime {
        let storeError = time == nil ? await survey([]).storeError : nil
        guard let time else { throw storeError ?? FleetStoreError(.unavailable, "etcd's time is unknown") }
        return time
    }
}
