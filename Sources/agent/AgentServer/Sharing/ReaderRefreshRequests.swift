// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// The requests of readers for a newer token of one session: those this reader sends, or those this keeper
/// receives.
///
/// Confined to the agent's event loop.
final class ReaderRefreshRequests {
    /// The minimum time between two refreshes that readers have requested.
    ///
    /// Readers are less trusted and must not make the keepers refresh as often as they like.
    private static let delay = RetrySchedule.replacementPause(refusedBefore: 1, isRepeat: false)

    private let sharing: any FleetSharing
    private unowned let fleet: FleetCoordinator
    private let parts: FleetParts
    /// The time of the refresh that the latest received request causes.
    private var followedAt: Instant?

    init(sharing: any FleetSharing, fleet: FleetCoordinator) {
        self.sharing = sharing
        self.fleet = fleet
        parts = fleet.parts
    }

    /// Tells the keepers that the tokens of this generation are no longer valid.
    func tell(_ generation: UInt64, of session: SharedSession) {
        guard let lineage = session.member.memory.record?.lineage else { return }
        let (sharing, name) = (sharing, session.name)
        fleet.call { () async throws(FleetStoreError) in
            try await sharing.want(lineage, generation: generation, of: name)
        } then: { [self] result in
            guard !session.hasEnded, case .failure(let failure) = result else { return }
            requestFailed(session, failure)
        }
    }

    /// Handles a failed request of this reader to the keepers.
    ///
    /// If this host may not write to etcd, the session's refresh attempt fails.
    private func requestFailed(_ session: SharedSession, _ storeError: FleetStoreError) {
        session.note(storeError)
        guard storeError.kind == .denied, let attempt = session.attempt else { return }
        let message = "cannot request a refresh from the keepers: \(storeError.advice)"
        let denial = ReservationResult.unasked(StorageFailure(message: message))
        fleet.refreshes?.refused(attempt.number, denial, for: session.name)
    }

    /// Refreshes the session after a short delay, because a reader has requested it.
    ///
    /// Every keeper receives the request. After a random delay the first keeper refreshes, and the others
    /// then need not.
    func follow(in session: SharedSession) {
        let wait =
            followedAt.map { max(.zero, $0 + ReaderRefreshRequests.delay - parts.timekeeper.now) } ?? .zero
        followedAt = parts.timekeeper.now + wait
        let generation = session.member.memory.record?.generation
        fleet.later(after: TimeAmount(wait + .seconds(1) * parts.chance())) { [parts] in
            guard !session.hasEnded, session.member.memory.record?.generation == generation else { return }
            parts.registry.apply(session.name) { session, moment in session.refreshAsked(at: moment) }
        }
    }
}
