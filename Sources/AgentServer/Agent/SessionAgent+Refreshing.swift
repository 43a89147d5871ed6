// SPDX-License-Identifier: MIT

import TokenCore

/// The next step of an attempt, which waits until the issuer can bear another request.
enum AttemptStep: Equatable {
    case reserve(AttemptNumber, SessionSnapshot)
    case send(RefreshRequest)

    var attempt: AttemptNumber {
        switch self {
        case .reserve(let attempt, _): attempt
        case .send(let request): request.attempt
        }
    }
}

extension SessionAgent {
    /// Takes a step when the session's issuer can bear it; an attempt is let in once, for all its steps.
    func paced(_ step: AttemptStep, for name: SessionName, at moment: Moment) {
        guard let kept = sessions[name] else { return }
        guard phase == .working else { return refuse(step, for: name) }
        if admitted[name]?.attempt == step.attempt { return take(step, for: name) }
        let issuer = kept.settings.issuer
        held[name] = step
        pacing[issuer, default: IssuerPacing(at: moment.now)].requested(
            by: name,
            isReplay: kept.session.isReplaying,
            isDemanded: kept.session.isDemanded,
            isForeign: kept.session.isForeignAttempt && !kept.session.isDemanded,
            neededBy: kept.session.neededBy ?? moment.now
        )
        admit(at: issuer)
    }

    /// A request has joined an attempt that is still held back: it goes before those nobody waits for.
    func demand(_ name: SessionName) {
        guard let step = held[name] else { return }
        paced(step, for: name, at: ports.timekeeper.moment)
    }

    /// Lets in whoever the issuer can bear now, and looks again when it can bear more.
    func admit(at issuer: String) {
        guard phase == .working else { return }
        if let opening = pacing[issuer]?.closedUntil(at: ports.timekeeper.now) {
            postponeHeld(by: issuer, until: opening)
        }
        while true {
            let names = pacing[issuer]?.admit(at: ports.timekeeper.now) ?? []
            guard !names.isEmpty else { break }
            for name in names { admit(name, at: issuer) }
        }
        wakePacing(of: issuer)
    }

    private func admit(_ name: SessionName, at issuer: String) {
        // Meanwhile the session may have been logged out, or logged in anew.
        guard let step = held.removeValue(forKey: name),
            sessions[name]?.session.attemptInFlight == step.attempt
        else {
            pacing[issuer]?.withdrawn(by: name)
            forgetDeparted(name)
            return
        }
        admitted[name] = (step.attempt, issuer)
        take(step, for: name)
    }

    /// Lets who waits for a refresh know that there will be none before `opening`.
    private func postponeHeld(by issuer: String, until opening: Instant) {
        for (name, step) in held {
            guard let kept = sessions[name], kept.settings.issuer == issuer, kept.session.isRefreshing else {
                continue
            }
            held[name] = nil
            pacing[issuer]?.withdrawn(by: name)
            later { agent in
                agent.apply(name) { session, moment in
                    session.attemptPostponed(step.attempt, until: opening, at: moment)
                }
            }
        }
    }

    private func wakePacing(of issuer: String) {
        let now = ports.timekeeper.now
        guard let wakeTime = pacing[issuer]?.wakeTime(at: now), pacingTimers[issuer] == nil else { return }
        let delay = min(max(.milliseconds(5), wakeTime - now), .seconds(3_600))
        let timer = eventLoop.scheduleTask(in: .nanoseconds(delay.saturatedNanoseconds)) { [weak self] in
            guard let self else { return }
            assumeIsolated { agent in
                agent.pacingTimers[issuer] = nil
                agent.admit(at: issuer)
            }
        }
        pacingTimers[issuer] = timer
    }

    /// Lets go of everything that is held back: the agent locks or stops.
    func forgetHeld() {
        held = [:]
        admitted = [:]
        pacing = [:]
        for timer in pacingTimers.values { timer.cancel() }
        pacingTimers = [:]
    }

    /// An attempt has ended, one way or the other.
    private func attemptEnded(_ attempt: AttemptNumber, _ failure: RefreshFailure?, for name: SessionName) {
        guard let slot = admitted[name], slot.attempt == attempt else { return }
        admitted[name] = nil
        let trouble = failure.flatMap {
            $0.kind.consequences.isIssuersTrouble || $0.retryAfter != nil ? $0 : nil
        }
        pacing[slot.issuer]?.finished(name, trouble, at: ports.timekeeper.now)
        later { agent in agent.admit(at: slot.issuer) }
    }
}

// MARK: Steps

extension SessionAgent {
    private func take(_ step: AttemptStep, for name: SessionName) {
        switch step {
        case .reserve(let attempt, let snapshot): reserve(attempt, snapshot, for: name)
        case .send(let request): send(request, for: name)
        }
    }

    /// A stop or a lock came first: nothing new is begun.
    private func refuse(_ step: AttemptStep, for name: SessionName) {
        let paused = pausedStorage
        later { agent in
            switch step {
            case .reserve(let attempt, _): agent.reservationFinished(attempt, paused, for: name)
            case .send(let request):
                let failure = RefreshFailure(kind: .unreachable, message: paused.message)
                agent.refreshFinished(request.attempt, .failed(failure), for: name)
            }
        }
    }

    private func reserve(_ attempt: AttemptNumber, _ snapshot: SessionSnapshot, for name: SessionName) {
        inFlight += 1
        reservations.add(ReservationQueue.Reservation(session: name, attempt: attempt, snapshot: snapshot))
        reserveNext()
    }

    /// Gives the store's thread its next reservation.
    private func reserveNext() {
        while let next = reservations.next() {
            inFlight -= 1
            guard phase == .working else {
                refuse(.reserve(next.attempt, next.snapshot), for: next.session)
                reservations.finished()
                continue
            }
            // Meanwhile the session may have been logged out, or logged in anew: its files are to stay as they are.
            guard isUnderWay(next.attempt, of: next.session) else {
                attemptEnded(next.attempt, nil, for: next.session)
                reservations.finished()
                continue
            }
            return begin(next)
        }
    }

    private func begin(_ reservation: ReservationQueue.Reservation) {
        let name = reservation.session
        onStoreThread { store -> StorageFailure? in
            do throws(StorageFailure) {
                try store.reserve(name, reservation.attempt, reservation.snapshot)
                return nil
            } catch {
                return error
            }
        } then: { agent, failure in
            agent.reservations.finished()
            agent.reservationFinished(reservation.attempt, failure, for: name)
            agent.reserveNext()
        }
    }

    private func isUnderWay(_ attempt: AttemptNumber, of name: SessionName) -> Bool {
        (sessions[name]?.session ?? departing[name])?.attemptInFlight == attempt
    }

    private func reservationFinished(
        _ attempt: AttemptNumber,
        _ failure: StorageFailure?,
        for name: SessionName
    ) {
        let reason = sessions[name]?.session.reason(of: attempt)
        let jitter = ports.chance()
        apply(name) { session, moment in
            session.reservationFinished(attempt, failure, jitter: jitter, at: moment)
        }
        if let failure {
            noteFailure(RefreshFailure(kind: .storage, message: failure.message), of: reason, for: name)
        }
        // Without a reservation most attempts end here; those that do not are past their hold already.
        if sessions[name]?.session.attemptInFlight != attempt { attemptEnded(attempt, nil, for: name) }
    }

    private func send(_ request: RefreshRequest, for name: SessionName) {
        log(.debug, "refresh started", name, ["attempt": "\(request.attempt.rawValue)"])
        inFlight += 1
        lent.lend(request.secrets)
        Task {
            let outcome = await ports.authorization.refresh(name, request)
            inFlight -= 1
            refreshFinished(request.attempt, outcome, for: name)
            for secret in lent.giveBack(request.secrets) { erase(secret) }
            noteProgress()
        }
    }

    private func refreshFinished(
        _ attempt: AttemptNumber,
        _ outcome: RefreshOutcome,
        for name: SessionName
    ) {
        attemptEnded(attempt, outcome.failure, for: name)
        let reason = sessions[name]?.session.reason(of: attempt)
        let jitter = ports.chance()
        guard sessions[name] != nil else { return keepForRecord(name, outcome, of: attempt) }
        apply(name) { session, moment in
            session.refreshFinished(attempt, outcome, jitter: jitter, at: moment)
        }
        if let failure = outcome.failure {
            noteFailure(failure, of: reason, for: name)
        } else if let reason {
            sessions[name]?.counts.refreshes[reason, default: 0] += 1
        }
    }

    /// Counts and logs a failed attempt, once the session has decided what comes next; late ones mean nothing.
    private func noteFailure(_ failure: RefreshFailure, of reason: RefreshReason?, for name: SessionName) {
        guard let reason, let kept = sessions[name] else { return }
        sessions[name]?.counts.failures[failure.kind, default: 0] += 1
        sessions[name]?.counts.failedRefreshes[reason, default: 0] += 1
        let nextTry = kept.session.status.nextRefreshAt.map { $0 - ports.timekeeper.now }
        journal.refreshFailed(failure, of: reason, name, nextTry: nextTry)
    }

    func release(_ snapshot: SessionSnapshot, answered: Bool, for name: SessionName) {
        onStoreThread {
            $0.release(name, snapshot, answered: answered)
        } then: { _, _ in
        }
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
