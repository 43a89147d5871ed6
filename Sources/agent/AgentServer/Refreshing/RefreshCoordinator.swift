// SPDX-License-Identifier: MIT

import TokenCore

/// Refresh attempts of all sessions: ``run(_:of:)`` makes one, from its first step to its outcome.
///
/// - Entry points: ``begin(_:of:)``, ``tokenRequest(_:)``, ``sessionChanged(_:)``, ``sessionRemoved(_:)``.
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
    private let fleet: any SessionSharing
    /// The requests for tokens that other sessions' tokens are made from.
    private let sources: SourceSessionTokenRequests
    private var queue = RefreshQueue()
    /// The attempts that ``queue`` holds.
    private let held: WaitingRefreshAttempts
    /// The attempts of shared sessions that wait for the fleet's permission.
    private let claims: WaitingRefreshAttempts
    /// The turns of attempts to have the store reserve space: other work of the store waits for one reservation at
    /// most, because a response that has arrived is worth more than space for later ones.
    private let reservations = AsyncMutex()

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
        fleet: any SessionSharing,
        sources: SourceSessionTokenRequests
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
        held = WaitingRefreshAttempts(work: work)
        claims = WaitingRefreshAttempts(work: work)
        sources.refreshes = self
        fleet.refreshes = self
        alarm.onFire { [weak self] in self?.admitDueRequests() }
    }

    /// Returns the number of attempts at `stage`.
    func count(at stage: RefreshQueue.Stage) -> Int { queue.count(at: stage) }

    /// Makes an attempt of a session, in a task of its own.
    func begin(_ attempt: AttemptNumber, of name: SessionName) {
        guard let entry = registry[name] else { return }
        work.begin()
        tasks.start {
            await self.run(attempt, of: entry)
            self.work.end()
        }
    }

    /// Makes an attempt: waits for the tokens it is made from and for its place at the issuer, has space reserved
    /// for the response, and sends the request.
    ///
    /// The session has the last word before each step: a logout or another login may have replaced the attempt.
    private func run(_ attempt: AttemptNumber, of entry: SessionEntry) async {
        let name = entry.session.name
        var fence: RefreshRequestDeadlines?
        if entry.session.reservation(of: attempt, at: timekeeper.moment) == nil {
            guard await waitForSources(attempt, of: entry), await waitForPlace(attempt, of: entry) else {
                return giveUp(attempt, of: name)
            }
        } else {
            guard await waitForPlace(attempt, of: entry), await waitForFleet(attempt, of: entry) else {
                return giveUp(attempt, of: name)
            }
            fence = await reserve(attempt, of: entry)
            // The place was given up if another host was refreshing meanwhile.
            guard await waitForPlace(attempt, of: entry) else { return giveUp(attempt, of: name) }
        }
        guard registry[name] === entry, var request = entry.session.request(of: attempt, within: fence) else {
            return giveUp(attempt, of: name)
        }
        do throws(RefreshFailure) {
            guard phase.current == .working else {
                throw RefreshFailure(kind: .unreachable, message: pauseReason)
            }
            request.sources = try sources.tokens(for: name)
        } catch {
            return refreshFinished(attempt, .failed(error), of: entry)
        }
        log.write(.debug, "refresh started", name, ["attempt": "\(attempt.rawValue)"])
        erasure.retain(request.secrets)
        entry.sending.insert(attempt)
        let outcome = await authorization.refresh(name, request)
        refreshFinished(attempt, outcome, of: entry)
        entry.sending.remove(attempt)
        if entry.hasLeft, entry.sending.isEmpty { eraseSecrets(of: entry.session) }
        if outcome.failure?.kind == .sourceRefused { sources.recordRefusal(of: request.sources, for: name) }
        erasure.release(request.secrets)
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
        held.endAll()
        claims.endAll()
        sources.forget()
        alarm.cancel()
    }

    private func admit(at issuer: String) {
        guard phase.current == .working else { return }
        let actions = queue.admit(at: issuer, now: timekeeper.now) { [registry] in
            registry[$0]?.session.attemptInFlight
        }
        for action in actions {
            switch action {
            case .admit(let name, let attempt): held.resume(attempt, of: name, continuing: true)
            case .abandon(let name, let attempt): held.resume(attempt, of: name, continuing: false)
            case .postpone(let name, let attempt, let opening):
                held.resume(attempt, of: name, continuing: false)
                work.later { [registry] in
                    registry.apply(name) { session, moment in
                        session.attemptPostponed(attempt, until: opening, at: moment)
                    }
                }
            }
        }
        alarm.plan(issuer, at: queue.wakeTime(of: issuer, now: timekeeper.now))
    }

    /// Ends an attempt that has sent nothing: it gives back its place at the issuer and its claim in the fleet.
    private func giveUp(_ attempt: AttemptNumber, of name: SessionName) {
        claims.resume(attempt, of: name, continuing: false)
        fleet.withdraw(attempt, of: name)
        guard let issuer = queue.yielded(attempt, of: name) else { return }
        work.later { [self] in admit(at: issuer) }
    }

    /// Ends an attempt with the issuer's response, so that the issuer may be sent the next one.
    private func ended(_ attempt: AttemptNumber, _ failure: RefreshFailure?, for name: SessionName) {
        fleet.withdraw(attempt, of: name)
        guard let issuer = queue.ended(attempt, of: name, failure, now: timekeeper.now) else { return }
        work.later { [self] in admit(at: issuer) }
    }

    /// The reason no attempt continues, while the agent locks or stops.
    private var pauseReason: String {
        phase.current == .stopping ? "the agent is stopping" : "the agent is locked"
    }
}

// MARK: Steps

extension RefreshCoordinator {
    /// Waits until the session's sources have tokens, if its own are made from such.
    ///
    /// They come first: an attempt that waits for another session must not occupy its issuer's queue.
    ///
    /// - Returns: `false` if the attempt is given up or has failed.
    private func waitForSources(_ attempt: AttemptNumber, of entry: SessionEntry) async -> Bool {
        do throws(RefreshFailure) {
            return try await sources.waitUntilReady(for: attempt, of: entry)
        } catch {
            refreshFinished(attempt, .failed(error), of: entry)
            return false
        }
    }

    /// Waits until the session's issuer can take another request, unless the attempt has its place already, or the
    /// next step fails anyway.
    ///
    /// - Returns: `false` if the attempt is given up or postponed meanwhile.
    private func waitForPlace(_ attempt: AttemptNumber, of entry: SessionEntry) async -> Bool {
        let name = entry.session.name
        guard phase.current == .working, !queue.isAdmitted(attempt, of: name), registry[name] === entry,
            entry.session.attemptInFlight == attempt
        else { return true }
        let issuer = entry.settings.paceKey(of: name)
        return await held.wait(attempt, of: name) {
            queue.requested(attempt, by: entry.session, at: issuer, now: timekeeper.now)
            admit(at: issuer)
        }
    }

    /// Waits until the fleet of a shared session permits this host to send its refresh token.
    ///
    /// - Returns: `false` if the attempt is given up, refused or postponed.
    private func waitForFleet(_ attempt: AttemptNumber, of entry: SessionEntry) async -> Bool {
        guard entry.session.policy.isShared, phase.current == .working else { return true }
        let name = entry.session.name
        return await claims.wait(attempt, of: name) { fleet.ask(attempt, of: name) }
    }

    /// Has the store reserve space for the response, and tells the session, unless that has left, whether it has.
    ///
    /// - Returns: The fleet's deadlines for the request, if the session is shared.
    private func reserve(_ attempt: AttemptNumber, of entry: SessionEntry) async -> RefreshRequestDeadlines? {
        let name = entry.session.name
        await reservations.begin()
        defer { reservations.end() }
        // A session that has given up the attempt has nothing to reserve, and its files must not change.
        guard registry[name] === entry,
            let snapshot = entry.session.reservation(of: attempt, at: timekeeper.moment)
        else { return nil }
        guard phase.current == .working else {
            reservationFinished(attempt, .failed(StorageFailure(message: pauseReason)), for: name)
            return nil
        }
        let marked = fleet.marked(snapshot, of: name)
        let failure = await storeThread.failure { store throws(StorageFailure) in
            try store.reserve(name, marked)
        }
        guard registry[name] === entry else { return nil }
        let fence = fleet.fence(of: attempt, name)
        reservationFinished(attempt, failure.map(ReservationResult.failed) ?? .granted, for: name)
        return fence
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
        if registry[name]?.session.attemptInFlight != attempt { giveUp(attempt, of: name) }
    }

    private func refreshFinished(
        _ attempt: AttemptNumber,
        _ outcome: RefreshOutcome,
        of entry: SessionEntry
    ) {
        let name = entry.session.name
        let addressee = fleet.answered(attempt, outcome, of: name)
        let failure = addressee == .nobody ? nil : outcome.failure
        ended(attempt, failure, for: name)
        guard registry[name] === entry else { return handleLate(outcome, of: attempt, from: entry) }
        let reason = entry.session.reason(of: attempt)
        guard addressee == .session else {
            if let failure { countFailure(failure, of: reason, for: name) }
            return
        }
        let jitter = chance()
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

    /// Tells the store that an attempt brought no tokens (``SessionStoring/release(_:answered:)``).
    func release(_ name: SessionName, answered: Bool) {
        storeThread.run { $0.release(name, answered: answered) }
    }
}

// MARK: Shared sessions

extension RefreshCoordinator: SharedRefreshDecisionReceiver, SourceRefreshing {
    /// Continues an attempt that the fleet allows this host to make.
    func granted(_ attempt: AttemptNumber, for name: SessionName) {
        if !claims.resume(attempt, of: name, continuing: true) { giveUp(attempt, of: name) }
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
        giveUp(attempt, of: name)
    }
}

// MARK: Departing sessions

extension RefreshCoordinator {
    /// Ends the attempts of a session that leaves the configuration.
    ///
    /// The response to a refresh in flight still belongs in its record, in case the session returns.
    func sessionRemoved(_ entry: SessionEntry) {
        let name = entry.session.name
        sources.refuseAll(of: name)
        sources.giveUp(for: name)
        held.end(name)
        claims.end(name)
        entry.hasLeft = true
        if entry.sending.isEmpty { eraseSecrets(of: entry.session) }
    }

    /// Gives up an attempt that waits although the session has given it up.
    func sessionChanged(_ name: SessionName) {
        let attempt = registry[name]?.session.attemptInFlight
        held.end(name, unless: attempt)
        claims.end(name, unless: attempt)
    }

    /// Writes the result of a departed session's refresh to its record, unless another session has its place.
    ///
    /// When the agent has been locked meanwhile, the next attempt reads the response from the store's recording.
    private func handleLate(
        _ outcome: RefreshOutcome,
        of attempt: AttemptNumber,
        from entry: SessionEntry
    ) {
        guard entry.sending.contains(attempt) else { return }
        let name = entry.session.name
        guard entry.hasLeft else {
            return erasure.erase(entry.session.revocation(of: outcome)?.secrets ?? [])
        }
        guard registry[name] == nil else {
            return registry.apply(name) { session, _ in session.discardLate(outcome) }
        }
        for effect in entry.session.refreshFinished(attempt, outcome, jitter: 0, at: timekeeper.moment) {
            switch effect {
            case .commit(_, let snapshot):
                storeThread.run { _ = $0.commit(name, snapshot) }
                erasure.erase(snapshot.secrets)
            case .release(_, let answered): release(name, answered: answered)
            default: continue
            }
        }
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
