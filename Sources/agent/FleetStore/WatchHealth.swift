// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// A record of whether the watch reports changes.
///
/// A proxy between this host and etcd may pass on calls but hold back streams.
final class WatchHealth: Sendable {
    private let isWhole = Atomic(true)

    /// Records that the watch has reported a change, or has missed one.
    func note(isWhole: Bool) {
        self.isWhole.store(isWhole, ordering: .relaxed)
    }

    /// The error of the watch while etcd responds to calls, or `nil` if there is none.
    var storeError: FleetStoreError? {
        guard !isWhole.load(ordering: .relaxed) else { return nil }
        return FleetStoreError(
            .unavailable,
            "a proxy between this host and etcd delays change notifications",
            remedy: .set("the proxy in front of etcd to pass on /v3/watch without buffering")
        )
    }
}
