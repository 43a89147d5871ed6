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
    /// The time of the refresh that the latest received request causes.
    private var followedAt: Instant?

    init(sharing: any FleetSharing) {
        self.sharing = sharing
    }

    /// Tells the keepers that the tokens of this generation are no longer valid.
    func tell(_ generation: UInt64, of session: SharedSession, in agent: isolated SessionAgent) {
        guard let lineage = session.member.memory.record?.lineage else { return }
        let (sharing, name) = (sharing, session.name)
        agent.fleet.call(in: agent) { () async throws(FleetStoreError) in
            try await sharing.want(lineage, generation: generation, of: name)
        } then: { [self] result in
            guard !session.hasEnded, case .failure(let failure) = result else { return }
            requestFailed(session, failure, in: agent)
        }
    }

    /// Handles a failed request of this reader to the keepers.
    ///
    /// If this host may not write to etcd, the session's refresh attempt fails.
    private func requestFailed(
        _ session: SharedSession,
        _ storeError: FleetStoreError,
        in agent: isolated SessionAgent
    ) {
        session.note(storeError, in: agent)
        guard storeError.kind == .denied, let attempt = session.attempt else { return }
        let message = "cannot request a refresh from the keepers: \(storeError.advice)"
        let denial = ReservationResult.unasked(StorageFailure(message: message))
        agent.refreshes.refused(attempt.number, denial, for: session.name, in: agent)
    }

    /// Refreshes the session after a short delay, because a reader has requested it.
    ///
    /// Every keeper receives the request. After a random delay the first keeper refreshes, and the others
    /// then need not.
    func follow(in session: SharedSession, in agent: isolated SessionAgent) {
        let wait = followedAt.map { max(.zero, $0 + ReaderRefreshRequests.delay - agent.now) } ?? .zero
        followedAt = agent.now + wait
        let generation = session.member.memory.record?.generation
        agent.fleet.later(after: TimeAmount(wait + .seconds(1) * agent.ports.chance())) {
            guard !session.hasEnded, session.member.memory.record?.generation == generation else { return }
            agent.apply(session.name) { session, moment in session.refreshAsked(at: moment) }
        }
    }
}
