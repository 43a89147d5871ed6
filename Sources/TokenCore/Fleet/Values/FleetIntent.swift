// SPDX-License-Identifier: MIT

/// Says in etcd that a host may have sent the refresh token of a record.
///
/// It has no lease and outlives its host: whoever finds it knows that an answer may be missing. Its holder alone may
/// commit an answer, so its exact value is the fencing token.
package struct FleetIntent: Hashable, Sendable {
    /// The most attempts that are remembered; the oldest go first.
    package static let mostPredecessors = 16

    package var lineage: Lineage
    package var generation: UInt64
    package var attempt: AttemptID
    /// When the attempt was made.
    package var at: FleetTime
    /// When the first of these attempts was made, which is when a server's grace may have begun.
    package var first: FleetTime
    /// Attempts that were sent before it, or may have been.
    package var before: [AttemptID]
    /// The server has answered the attempt with a refusal, which another one has to confirm.
    ///
    /// Nobody waits for its host any more, and whoever is refused next has the confirmation.
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
        self.before = Array(before.suffix(FleetIntent.mostPredecessors))
        self.isRefused = isRefused
    }

    /// An intent to send the refresh token of `record`, after those that `former` tells of.
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

    /// Stands for intents that a restored snapshot may have lost, or that do not open: an unanswered attempt that began
    /// long ago.
    package init(lostFor record: FleetHeader, besides former: FleetIntent?, at now: FleetTime) {
        self.init(of: .lost, for: record, after: former, at: now)
        first = FleetTime(seconds: 0)
    }

    /// With the answer of the server, a refusal.
    var refused: FleetIntent {
        var next = self
        next.isRefused = true
        return next
    }

    /// It is about the refresh token of this record.
    package func concerns(_ record: FleetHeader) -> Bool {
        lineage == record.lineage && generation == record.generation
    }
}
