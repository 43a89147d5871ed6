// SPDX-License-Identifier: MIT

import TokenCore

/// Refresh attempts of all sessions, carried out when ``RefreshQueue`` admits them.
///
/// An attempt first reserves space in the store, and then sends the request.
///
/// - Entry points: ``perform(_:for:)``, ``demand(_:)``, ``sessionRemoved(_:)``.
/// - May not: decide whether a session refreshes. `Session` (TokenCore) decides that.
///
/// Confined to the agent's event loop.
final class RefreshCoordinator {
    private let registry: SessionRegistry
    private let phase: AgentPhase
    private let work: PendingWork
    private let storeThread: StoreThread
    private let erasure: DeferredSecretErasure
    private let authorization: any AuthorizationServing
    private let timekeeper: any Timekeeper
    private let chance: @Sendable () -> Double
    private let log: SessionLog
    private let tasks: LoopTasks
    /// Fires when an issuer may be sent another request.
    private let alarm: Alarm<String>
    /// The sessions shared by several hosts.
    private let fleet: FleetCoordinator
    /// The requests for tokens that other sessions' tokens are made from.
    private let sources: SourceTokenRequests
    private var queue = RefreshQueue()
    /// Sessions that left the configuration while their refresh was in flight.
    private var departing: [SessionName: Session] = [:]

    init(
        registry: SessionRegistry,
        phase: AgentPhase,
        work: PendingWork,
        storeThread: StoreThread,
        erasure: DeferredSecretErasure,
        ports: AgentPorts,
        log: SessionLog,
        tasks: LoopTasks,
        alarm: Alarm<String>,
        fleet: FleetCoordinator,
        sources: SourceTokenRequests
    ) {
        self.registry = registry
        self.phase = phase
        self.work = work
        self.storeThread = storeThread
        self.erasure = erasure
        authorization = ports.authorization
        timekeeper = ports.timekeeper
        chance = ports.chance
        self.log = log
        self.tasks = tasks
        self.alarm = alarm
        self.fleet = fleet
        self.sources = sources
        sources.refreshes = self
        fleet.refreshes = self
        alarm.onFire { [weak self] in self?.admitDueRequests() }
    }

    /// Returns the number of attempts at `stage`.
    func count(at stage: RefreshQueue.Stage) -> Int { queue.count(at: stage) }

    /// Carries out a step as soon as the session's issuer may be sent another request.
    func perform(_ step: RefreshQueue.NextStep, for name: SessionName) {
        guard let kept = registry[name] else { return }
        guard phase.current == .working else { return refuse(step, for: name) }
        // Source tokens come first: an attempt that waits for another session must not occupy its issuer's
        // queue.
        if case .send(let request) = step, !sources.areReady(for: request, of: name) { return }
        queue(step, for: kept)
    }

    /// Queues a step whose source tokens are available.
    func queue(_ step: RefreshQueue.NextStep, for kept: SessionEntry) {
        let issuer = kept.settings.paceKey(of: kept.session.name)
        perform(queue.requested(step, by: kept.session, at: issuer, now: timekeeper.now))
        admit(at: issuer)
    }

    /// Records that a request waits for an attempt, which then precedes queued attempts without waiters.
    func tokenRequest(_ name: SessionName) {
        guard let session = registry[name]?.session,
            let issuer = queue.demanded(by: session, now: timekeeper.now)
        else { return }
        admit(at: issuer)
    }

    /// Admits the attempts of every issuer that may be sent another request now.
    func timeReached() {
        for issuer in queue.issuers { admit(at: issuer) }
    }

    /// Admits the attempts of the issuers whose alarm is due.
    private func admitDueRequests() {
        for issuer in alarm.takeDue() { admit(at: issuer) }
        alarm.set()
    }

    /// Clears the backoff of all issuers, as the network may have caused it; call ``timeReached()`` next.
    func networkReturned() {
        queue.networkReturned()
    }

    /// Drops all queued attempts, because the agent locks or stops.
    func forget() {
        queue.forget()
        sources.forget()
        alarm.cancel()
    }

    private func admit(at issuer: String) {
        guard phase.current == .working else { return }
        let actions = queue.admit(at: issuer, now: timekeeper.now) { [registry] in
            registry[$0]?.session.attemptInFlight
        }
        perform(actions)
        alarm.plan(issuer, at: queue.wakeTime(of: issuer, now: timekeeper.now))
    }

    private func perform(_ actions: [RefreshQueue.Action]) {
        for action in actions {
            switch action {
            case .ask(let reservation): fleet.ask(reservation)
            case .send(let name, let request): send(request, for: name)
            case .postpone(let name, let attempt, let opening):
                work.later { [registry] in
                    registry.apply(name) { session, moment in
                        session.attemptPostponed(attempt, until: opening, at: moment)
                    }
                }
            case .abandon(let name):
                if let session = departing.removeValue(forKey: name) { eraseSecrets(of: session) }
            }
        }
        reserveNext()
    }

    /// Fails a step because the agent stops or locks.
    private func refuse(_ step: RefreshQueue.NextStep, for name: SessionName) {
        let paused = StorageFailure(
            message: phase.current == .stopping ? "the agent is stopping" : "the agent is locked"
        )
        work.later { [self] in
            switch step {
            case .reserve(let attempt, _): reservationFinished(attempt, .failed(paused), for: name)
            case .send(let request):
                let failure = RefreshFailure(kind: .unreachable, message: paused.message)
                refreshFinished(request.attempt, .failed(failure), for: name)
            }
        }
    }

    /// Ends an attempt with any outcome, so that its issuer may be sent the next one.
    private func ended(_ attempt: AttemptNumber, _ failure: RefreshFailure?, for name: SessionName) {
        fleet.withdraw(attempt, of: name)
        guard let issuer = queue.ended(attempt, of: name, failure, now: timekeeper.now) else { return }
        work.later { [self] in admit(at: issuer) }
    }
}

// MARK: Steps

extension RefreshCoordinator {
    /// Passes the next reservation to the store's thread.
    private func reserveNext() {
        while let next = queue.nextReservation() {
            guard phase.current == .working else {
                refuse(.reserve(next.attempt, next.snapshot), for: next.session)
                queue.reservationEnded()
                continue
            }
            // Skip an attempt that a logout or login has replaced meanwhile: the session's files must not
            // change.
            guard registry[next.session]?.session.attemptInFlight == next.attempt else {
                ended(next.attempt, nil, for: next.session)
                queue.reservationEnded()
                continue
            }
            return reserve(next)
        }
    }

    private func reserve(_ next: RefreshQueue.ReservationRequest) {
        let snapshot = fleet.marked(next.snapshot, of: next.session)
        storeThread.attempt { store throws(StorageFailure) in
            try store.reserve(next.session, next.attempt, snapshot)
        } then: { [self] failure in
            queue.reservationEnded()
            let fence = fleet.fence(of: next.attempt, next.session)
            let answer = failure.map(ReservationResult.failed) ?? .granted(within: fence)
            reservationFinished(next.attempt, answer, for: next.session)
            reserveNext()
        }
    }

    private func reservationFinished(
        _ attempt: AttemptNumber,
        _ answer: ReservationResult,
        for name: SessionName
    ) {
        let reason = registry[name]?.session.reason(of: attempt)
        let jitter = chance()
        registry.apply(name) { session, moment in
            session.reservationFinished(attempt, answer, jitter: jitter, at: moment)
        }
        if let failure = answer.failure { countFailure(failure, of: reason, for: name) }
        // Most attempts without a reservation end here; those that continue have already been admitted.
        if registry[name]?.session.attemptInFlight != attempt {
            ended(attempt, nil, for: name)
        }
    }

    private func send(_ request: RefreshRequest, for name: SessionName) {
        var request = request
        do throws(RefreshFailure) {
            request.sources = try sources.tokens(for: name)
        } catch {
            let failed = RefreshOutcome.failed(error)
            let attempt = request.attempt
            return work.later { [self] in refreshFinished(attempt, failed, for: name) }
        }
        log.write(.debug, "refresh started", name, ["attempt": "\(request.attempt.rawValue)"])
        work.begin()
        erasure.retain(request.secrets)
        tasks.start {
            let outcome = await self.authorization.refresh(name, request)
            self.refreshFinished(request.attempt, outcome, for: name)
            if outcome.failure?.kind == .sourceRefused {
                self.sources.recordRefusal(of: request.sources, for: name)
            }
            self.erasure.release(request.secrets)
            self.work.end()
        }
    }

    func refreshFinished(_ attempt: AttemptNumber, _ outcome: RefreshOutcome, for name: SessionName) {
        let addressee = fleet.answered(attempt, outcome, of: name)
        let failure = addressee == .nobody ? nil : outcome.failure
        ended(attempt, failure, for: name)
        let reason = registry[name]?.session.reason(of: attempt)
        guard addressee == .session else {
            if let failure { countFailure(failure, of: reason, for: name) }
            return
        }
        let jitter = chance()
        guard registry[name] != nil else {
            return persistForDepartedSession(name, outcome, of: attempt)
        }
        registry.apply(name) { session, moment in
            session.refreshFinished(attempt, outcome, jitter: jitter, at: moment)
        }
        fleet.recordTokens(of: outcome, attempt, of: name)
        if let failure {
            countFailure(failure, of: reason, for: name)
        } else if let reason {
            registry.count(of: name) { $0.refreshes[reason, default: 0] += 1 }
        }
    }

    /// Counts and logs a failed attempt, after the session has planned the next one.
    ///
    /// A late failure of an attempt that the session has given up is ignored.
    private func countFailure(_ failure: RefreshFailure, of reason: RefreshReason?, for name: SessionName) {
        guard let reason, let kept = registry[name] else { return }
        registry.count(of: name) { counts in
            counts.failures[failure.kind, default: 0] += 1
            counts.failedRefreshes[reason, default: 0] += 1
        }
        let nextTry = kept.session.status.nextRefreshAt.map { $0 - timekeeper.now }
        log.refreshFailed(failure, of: reason, name, nextTry: nextTry)
    }

    /// Releases the space that was reserved for a response.
    func release(_ name: SessionName, answered: Bool) {
        storeThread.run { $0.release(name, answered: answered) }
    }
}

// MARK: Shared sessions

extension RefreshCoordinator: SharedRefreshing, SourceAwaiting {
    /// Continues an attempt that the fleet allows this host to make.
    func granted(_ reservation: RefreshQueue.ReservationRequest) {
        queue.granted(reservation)
        reserveNext()
    }

    /// Tells the session that another host is refreshing; its record or another result follows.
    func held(_ attempt: AttemptNumber, for name: SessionName) {
        if let issuer = queue.yielded(attempt, of: name) {
            work.later { [self] in admit(at: issuer) }
        }
        reservationFinished(attempt, .held, for: name)
    }

    /// Tells the session that the attempt may not be made now.
    func refused(_ attempt: AttemptNumber, _ answer: ReservationResult, for name: SessionName) {
        reservationFinished(attempt, answer, for: name)
    }

    /// Ends an attempt that the fleet's record has made unnecessary.
    func supersededByFleet(_ attempt: AttemptNumber, for name: SessionName) {
        ended(attempt, nil, for: name)
    }
}

// MARK: Departing sessions

extension RefreshCoordinator {
    /// Takes over a session that leaves the configuration.
    ///
    /// The response to a refresh in flight still belongs in its record, in case the session returns.
    func sessionRemoved(_ session: Session) {
        sources.refuseAll(of: session.name)
        let isSent = session.awaitsAnswer && !sources.giveUp(for: session.name)
        guard isSent else { return eraseSecrets(of: session) }
        departing[session.name] = session
    }

    /// Writes the result of a departed session's refresh to its record.
    private func persistForDepartedSession(
        _ name: SessionName,
        _ outcome: RefreshOutcome,
        of attempt: AttemptNumber
    ) {
        guard var session = departing.removeValue(forKey: name) else { return }
        for effect in session.refreshFinished(attempt, outcome, jitter: 0, at: timekeeper.moment) {
            switch effect {
            case .commit(_, let snapshot):
                storeThread.run { _ = $0.commit(name, snapshot) }
                erasure.erase(snapshot.secrets)
            case .release(_, let answered): release(name, answered: answered)
            default: continue
            }
        }
        eraseSecrets(of: session)
    }

    private func eraseSecrets(of session: Session) {
        erasure.erase(session.snapshot(at: timekeeper.moment)?.secrets ?? [])
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
