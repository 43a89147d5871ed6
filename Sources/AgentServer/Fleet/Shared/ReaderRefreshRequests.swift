// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// The readers' requests for another token of one session: this host's own, or those received as a keeper.
///
/// Confined to the agent's event loop.
final class ReaderRefreshRequests {
    /// The minimum time between two refreshes for readers.
    ///
    /// Readers are less trusted and must not make the keepers refresh as often as they like.
    private static let pause = RetrySchedule.replacementPause(refusedBefore: 1, isRepeat: false)

    private let sharing: any FleetSharing
    /// The time of the refresh for the latest received request.
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

    /// Handles an error of the request to the keepers.
    ///
    /// Without the right to write, the attempt fails.
    private func requestFailed(
        _ session: SharedSession,
        _ trouble: FleetStoreError,
        in agent: isolated SessionAgent
    ) {
        session.note(trouble, in: agent)
        guard trouble.kind == .denied, let attempt = session.attempt else { return }
        let message = "this host cannot ask the keepers for another token: \(trouble.advice)"
        let denial = ReservationResult.unasked(StorageFailure(message: message))
        agent.refreshes.refused(attempt.number, denial, for: session.name, in: agent)
    }

    /// Refreshes the session soon for a reader's request.
    ///
    /// Every keeper receives the request. After a random delay the first one refreshes, and the others find
    /// that done.
    func follow(in session: SharedSession, in agent: isolated SessionAgent) {
        let wait = followedAt.map { max(.zero, $0 + ReaderRefreshRequests.pause - agent.now) } ?? .zero
        followedAt = agent.now + wait
        let generation = session.member.memory.record?.generation
        agent.fleet.later(after: TimeAmount(wait + .seconds(1) * agent.ports.chance())) {
            guard !session.hasEnded, session.member.memory.record?.generation == generation else { return }
            agent.apply(session.name) { session, moment in session.refreshAsked(at: moment) }
        }
    }
}
