// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// Whether the watch tells of what changes: what stands between this host and etcd may answer calls, and hold back what is
/// streamed.
final class WatchHealth: Sendable {
    private let isWhole = Atomic(true)

    /// The watch has told of a change, or has been silent about one.
    func note(isWhole: Bool) {
        self.isWhole.store(isWhole, ordering: .relaxed)
    }

    /// What is wrong with the watch, although etcd answers; `nil`: nothing.
    var trouble: FleetStoreError? {
        guard !isWhole.load(ordering: .relaxed) else { return nil }
        return FleetStoreError(
            .unavailable,
            "what stands between this host and etcd holds back what etcd tells of changes",
            remedy: "have it pass on the answers of /v3/watch at once, without a buffer"
        )
    }
}
