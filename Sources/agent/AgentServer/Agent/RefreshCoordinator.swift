// SPDX-License-Identifier: MIT

import TokenCore

/// Refresh attempts of all sessions, carried out when ``RefreshQueue`` admits them.
///
/// An attempt first reserves space in the store, and then sends the request.
///
/// - Entry points: ``perform(_:for:in:)``, ``demand(_:in:)``, ``sessionRemoved(_:in:)``.
/// - May not: decide whether a session refreshes. `Session` (TokenCore) decides that.
///
/// Confined to the agent's event loop.
final class RefreshCoordinator {
    private let work: PendingWork
    private let storeThread: StoreThread
    private let erasure: DeferredSecretErasure
    /// Fires when an issuer may be sent another request.
    private let alarm: Alarm<String>
    /// The sessions shared by several hosts.
    let fleet: FleetCoordinator
    /// The requests for tokens that other sessions' tokens are made from.
    let sources = SourceTokenRequests()
    private var queue = RefreshQueue()
    /// Sessions that left the configuration while their refresh was in flight.
    private var departing: [SessionName: Session] = [:]

    init(
        work: PendingWork,
        storeThread: StoreThread,
        erasure: DeferredSecretErasure,
        alarm: Alarm<String>,
        fleet: FleetCoordinator
    ) {
        self.fleet = fleet
        self.work = work
        self.storeThread = storeThread
        self.erasure = erasure
        self.alarm = alarm
    }

    /// Calls `ring` on the event loop when an issuer may be sent another request; `ring` calls
    /// ``admitDueRequests(in:)``.
    func onFire(_ ring: @escaping () -> Void) {
        alarm.onFire(ring)
    }

    /// Returns the number of attempts at `stage`.
    func count(at stage: RefreshQueue.Stage) -> Int { queue.count(at: stage) }

    /// Carries out a step as soon as the session's issuer may be sent another request.
    func perform(_ step: RefreshQueue.NextStep, for name: SessionName, in agent: isolated SessionAgent) {
        guard let kept = agent.sessions[name] else { return }
        guard agent.phase == .working else { return refuse(step, for: name, in: agent) }
        // Source tokens come first: an attempt that waits for another session must not occupy its issuer's
        // queue.
        if case .send(let request) = step, !sources.areReady(for: request, of: name, in: agent) { return }
        queue(step, for: kept, in: agent)
    }

    /// Queues a step whose source tokens are available.
    func queue(_ step: RefreshQueue.NextStep, for kept: SessionEntry, in agent: isolated SessionAgent) {
        let issuer = kept.settings.paceKey(of: kept.session.name)
        perform(queue.requested(step, by: kept.session, at: issuer, now: agent.now), in: agent)
        admit(at: issuer, in: agent)
    }

    /// Records that a request waits for an attempt, which then precedes queued attempts without waiters.
    func tokenRequest(_ name: SessionName, in agent: isolated SessionAgent) {
        guard let session = agent.sessions[name]?.session,
            let issuer = queue.demanded(by: session, now: agent.now)
        else { return }
        admit(at: issuer, in: agent)
    }

    /// Admits the attempts of every issuer that may be sent another request now.
    func timeReached(in agent: isolated SessionAgent) {
        for issuer in queue.issuers { admit(at: issuer, in: agent) }
    }

    /// Admits the attempts of the issuers whose alarm is due.
    func admitDueRequests(in agent: isolated SessionAgent) {
        for issuer in alarm.takeDue() { admit(at: issuer, in: agent) }
        alarm.set()
    }

    /// Clears the backoff of all issuers, as the network may have caused it; call ``timeReached(in:)`` next.
    func networkReturned() {
        queue.networkReturned()
    }

    /// Drops all queued attempts, because the agent locks or stops.
    func forget() {
        queue.forget()
        sources.forget()
        alarm.cancel()
    }

    private func admit(at issuer: String, in agent: isolated SessionAgent) {
        guard agent.phase == .working else { return }
        let actions = queue.admit(at: issuer, now: agent.now) { agent.sessions[$0]?.session.attemptInFlight }
        perform(actions, in: agent)
        alarm.plan(issuer, at: queue.wakeTime(of: issuer, now: agent.now))
    }

    private func perform(_ actions: [RefreshQueue.Action], in agent: isolated SessionAgent) {
        for action in actions {
            switch action {
            case .ask(let reservation): fleet.ask(reservation, in: agent)
            case .send(let name, let request): send(request, for: name, in: agent)
            case .postpone(let name, let attempt, let opening):
                work.later {
                    agent.apply(name) { session, moment in
                        session.attemptPostponed(attempt, until: opening, at: moment)
                    }
                }
            case .abandon(let name):
                if let session = departing.removeValue(forKey: name) { eraseSecrets(of: session, in: agent) }
            }
        }
        reserveNext(in: agent)
    }

    /// Fails a step because the agent stops or locks.
    private func refuse(
        _ step: RefreshQueue.NextStep,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) {
        let paused = StorageFailure(
            message: agent.phase == .stopping ? "the agent is stopping" : "the agent is locked"
        )
        work.later { [self] in
            switch step {
            case .reserve(let attempt, _): reservationFinished(attempt, .failed(paused), for: name, in: agent)
            case .send(let request):
                let failure = RefreshFailure(kind: .unreachable, message: paused.message)
                refreshFinished(request.attempt, .failed(failure), for: name, in: agent)
            }
        }
    }

    /// Ends an attempt with any outcome, so that its issuer may be sent the next one.
    private func ended(
        _ attempt: AttemptNumber,
        _ failure: RefreshFailure?,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) {
        fleet.withdraw(attempt, of: name, in: agent)
        guard let issuer = queue.ended(attempt, of: name, failure, now: agent.now) else { return }
        work.later { [self] in admit(at: issuer, in: agent) }
    }
}

// MARK: Steps

extension RefreshCoordinator {
    /// Passes the next reservation to the store's thread.
    private func reserveNext(in agent: isolated SessionAgent) {
        while let next = queue.nextReservation() {
            guard agent.phase == .working else {
                refuse(.reserve(next.attempt, next.snapshot), for: next.session, in: agent)
                queue.reservationEnded()
                continue
            }
            // Skip an attempt that a logout or login has replaced meanwhile: the session's files must not
            // change.
            guard agent.sessions[next.session]?.session.attemptInFlight == next.attempt else {
                ended(next.attempt, nil, for: next.session, in: agent)
                queue.reservationEnded()
                continue
            }
            return reserve(next, in: agent)
        }
    }

    private func reserve(_ next: RefreshQueue.ReservationRequest, in agent: isolated SessionAgent) {
        let snapshot = fleet.marked(next.snapshot, of: next.session)
        storeThread.attempt { store throws(StorageFailure) in
            try store.reserve(next.session, next.attempt, snapshot)
        } then: { [self] failure in
            queue.reservationEnded()
            let fence = fleet.fence(of: next.attempt, next.session)
            let answer = failure.map(ReservationResult.failed) ?? .granted(within: fence)
            reservationFinished(next.attempt, answer, for: next.session, in: agent)
            reserveNext(in: agent)
        }
    }

    private func reservationFinished(
        _ attempt: AttemptNumber,
        _ answer: ReservationResult,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) {
        let reason = agent.sessions[name]?.session.reason(of: attempt)
        let jitter = agent.ports.chance()
        agent.apply(name) { session, moment in
            session.reservationFinished(attempt, answer, jitter: jitter, at: moment)
        }
        if let failure = answer.failure { countFailure(failure, of: reason, for: name, in: agent) }
        // Most attempts without a reservation end here; those that continue have already been admitted.
        if agent.sessions[name]?.session.attemptInFlight != attempt {
            ended(attempt, nil, for: name, in: agent)
        }
    }

    private func send(_ request: RefreshRequest, for name: SessionName, in agent: isolated SessionAgent) {
        var request = request
        do throws(RefreshFailure) {
            request.sources = try sources.tokens(for: name, in: agent)
        } catch {
            let failed = RefreshOutcome.failed(error)
            let attempt = request.attempt
            return agent.work.later { [self] in refreshFinished(attempt, failed, for: name, in: agent) }
        }
        agent.journal.write(.debug, "refresh started", name, ["attempt": "\(request.attempt.rawValue)"])
        work.begin()
        erasure.retain(request.secrets)
        Task { [request] in
            let outcome = await agent.ports.authorization.refresh(name, request)
            refreshFinished(request.attempt, outcome, for: name, in: agent)
            if outcome.failure?.kind == .sourceRefused {
                sources.recordRefusal(of: request.sources, for: name, in: agent)
            }
            erasure.release(request.secrets)
            work.end()
        }
    }

    func refreshFinished(
        _ attempt: AttemptNumber,
        _ outcome: RefreshOutcome,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) {
        let addressee = fleet.answered(attempt, outcome, of: name, in: agent)
        let failure = addressee == .nobody ? nil : outcome.failure
        ended(attempt, failure, for: name, in: agent)
        let reason = agent.sessions[name]?.session.reason(of: attempt)
        guard addressee == .session else {
            if let failure { countFailure(failure, of: reason, for: name, in: agent) }
            return
        }
        let jitter = agent.ports.chance()
        guard agent.sessions[name] != nil else {
            return persistForDepartedSession(name, outcome, of: attempt, in: agent)
        }
        agent.apply(name) { session, moment in
            session.refreshFinished(attempt, outcome, jitter: jitter, at: moment)
        }
        fleet.recordTokens(of: outcome, attempt, of: name, in: agent)
        if let failure {
            countFailure(failure, of: reason, for: name, in: agent)
        } else if let reason {
            agent.count(of: name) { $0.refreshes[reason, default: 0] += 1 }
        }
    }

    /// Counts and logs a failed attempt, after the session has planned the next one.
    ///
    /// A late failure of an attempt that the session has given up is ignored.
    private func countFailure(
        _ failure: RefreshFailure,
        of reason: RefreshReason?,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) {
        guard let reason, let kept = agent.sessions[name] else { return }
        agent.count(of: name) { counts in
            counts.failures[failure.kind, default: 0] += 1
            counts.failedRefreshes[reason, default: 0] += 1
        }
        let nextTry = kept.session.status.nextRefreshAt.map { $0 - agent.now }
        agent.journal.refreshFailed(failure, of: reason, name, nextTry: nextTry)
    }

    /// Releases the space that was reserved for a response.
    func release(_ name: SessionName, answered: Bool) {
        storeThread.run { $0.release(name, answered: answered) }
    }
}

// MARK: Shared sessions

extension RefreshCoordinator {
    /// Continues an attempt that the fleet allows this host to make.
    func granted(_ reservation: RefreshQueue.ReservationRequest, in agent: isolated SessionAgent) {
        queue.granted(reservation)
        reserveNext(in: agent)
    }

    /// Tells the session that another host is refreshing; its record or another result follows.
    func held(_ attempt: AttemptNumber, for name: SessionName, in agent: isolated SessionAgent) {
        if let issuer = queue.yielded(attempt, of: name) {
            work.later { [self] in admit(at: issuer, in: agent) }
        }
        reservationFinished(attempt, .held, for: name, in: agent)
    }

    /// Tells the session that the attempt may not be made now.
    func refused(
        _ attempt: AttemptNumber,
        _ answer: ReservationResult,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) {
        reservationFinished(attempt, answer, for: name, in: agent)
    }

    /// Ends an attempt that the fleet's record has made unnecessary.
    func supersededByFleet(
        _ attempt: AttemptNumber,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) {
        ended(attempt, nil, for: name, in: agent)
    }
}

// MARK: Departing sessions

extension RefreshCoordinator {
    /// Takes over a session that leaves the configuration.
    ///
    /// The response to a refresh in flight still belongs in its record, in case the session returns.
    func sessionRemoved(_ session: Session, in agent: isolated SessionAgent) {
        sources.refuseAll(of: session.name, in: agent)
        let isSent = session.awaitsAnswer && !sources.giveUp(for: session.name, in: agent)
        guard isSent else { return eraseSecrets(of: session, in: agent) }
        departing[session.name] = session
    }

    /// Writes the result of a departed session's refresh to its record.
    private func persistForDepartedSession(
        _ name: SessionName,
        _ outcome: RefreshOutcome,
        of attempt: AttemptNumber,
        in agent: isolated SessionAgent
    ) {
        guard var session = departing.removeValue(forKey: name) else { return }
        for effect in session.refreshFinished(attempt, outcome, jitter: 0, at: agent.moment) {
            switch effect {
            case .commit(_, let snapshot):
                storeThread.run { _ = $0.commit(name, snapshot) }
                erasure.erase(snapshot.secrets)
            case .release(_, let answered): release(name, answered: answered)
            default: continue
            }
        }
        eraseSecrets(of: session, in: agent)
    }

    private func eraseSecrets(of session: Session, in agent: isolated SessionAgent) {
        erasure.erase(session.snapshot(at: agent.moment)?.secrets ?? [])
    }
}

extension RefreshOutcome {
    fileprivate var failure: RefreshFailure? {
        switch self {
        case .granted: nil
        case .failed(let failure), .unusable(let failure, _): failure
        }
    }
}

extension ReservationResult {
    fileprivate var failure: RefreshFailure? {
        switch self {
        case .granted, .held, .notBefore, .unasked: nil
        case .unreachable(let storeError): RefreshFailure(storeError)
        case .failed(let failure): RefreshFailure(kind: .storage, message: failure.message)
        }
    }
}
