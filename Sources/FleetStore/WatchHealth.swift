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
    var trouble: FleetStoreError? {
        guard !isWhole.load(ordering: .relaxed) else { return nil }
        return FleetStoreError(
            .unavailable,
            "what stands between this host and etcd holds back what etcd tells of changes",
            remedy: "have it pass on the answers of /v3/watch at once, without a buffer"
        )
    }
}
