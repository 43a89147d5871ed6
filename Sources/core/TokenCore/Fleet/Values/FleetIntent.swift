// SPDX-License-Identifier: MIT

/// A declaration in etcd that a host may have sent the refresh token of a record.
///
/// It has no lease and outlives its host. A host that finds it knows that a response may be missing. Only its
/// holder may commit a response, so its exact value is the fencing token.
package struct FleetIntent: Hashable, Sendable {
    /// The maximum number of attempts in ``before``.
    ///
    /// The oldest are dropped first.
    package static let maximumPredecessors = 16

    package var lineage: Lineage
    package var generation: UInt64
    package var attempt: AttemptID
    /// The time of ``attempt``, by etcd's clock.
    package var at: FleetTime
    /// The time of the first attempt with the same refresh token, at which a server's grace may have begun.
    package var first: FleetTime
    /// The earlier attempts with the same refresh token that were sent, or may have been.
    package var before: [AttemptID]
    /// Whether the server rejected ``attempt``, and another attempt has to confirm the rejection.
    ///
    /// Its host is no longer waited for, and the next rejection is the confirmation.
    package var isRefused: Bool

    package init(
        lineage: Lineage,
        generation: UInt64,
        attempt: AttemptID,
        at: FleetTime,
        first: FleetTime,
        before: [AttemptID],
        isRefused: Bool = false
    ) {
        self.lineage = lineage
        self.generation = generation
        self.attempt = attempt
        self.at = at
        self.first = first
        self.before = Array(before.suffix(FleetIntent.maximumPredecessors))
        self.isRefused = isRefused
    }

    /// Creates an intent to send the refresh token of `record`, after the attempts in `former`.
    init(of attempt: AttemptID, for record: FleetHeader, after former: FleetIntent?, at now: FleetTime) {
        self.init(
            lineage: record.lineage,
            generation: record.generation,
            attempt: attempt,
            at: now,
            first: former?.first ?? now,
            before: former.map { $0.before + [$0.attempt] } ?? []
        )
    }

    /// Creates an intent in place of intents that etcd may have lost when it was restored, or that cannot be
    /// opened.
    ///
    /// It represents an unanswered attempt that began long ago.
    package init(lostFor record: FleetHeader, besides former: FleetIntent?, at now: FleetTime) {
        self.init(of: .lost, for: record, after: former, at: now)
        first = FleetTime(seconds: 0)
    }

    /// The same intent after the server rejected the attempt.
    var refused: FleetIntent {
        var next = self
        next.isRefused = true
        return next
    }

    /// Returns whether the intent is about the refresh token of this record.
    package func concerns(_ record: FleetHeader) -> Bool {
        lineage == record.lineage && generation == record.generation
    }
}
