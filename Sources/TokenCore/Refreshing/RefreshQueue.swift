// SPDX-License-Identifier: MIT

/// Which refresh attempts may go on, and in which order.
///
/// An attempt is held until its issuer can bear another request, and let in once for all its steps. First the
/// store makes room for the answer, for one attempt at a time, so that other work of the store waits for at
/// most one of them: an answer that has come is worth more than room for answers still to be asked for. Then
/// the attempt is sent, and counts at its issuer until it has ended.
///
/// A session has at most one attempt held and one let in: the answer to an old one may be late while the next
/// waits.
///
/// It only decides: what is to be done comes out as ``Action``s.
package struct RefreshQueue: Sendable {
    /// What an attempt does next.
    package enum Step: Equatable, Sendable {
        case reserve(AttemptNumber, SessionSnapshot)
        case send(RefreshRequest)

        package var attempt: AttemptNumber {
            switch self {
            case .reserve(let attempt, _): attempt
            case .send(let request): request.attempt
            }
        }
    }

    /// How far an attempt is.
    package enum Stage: Equatable, Sendable {
        /// Waits until the issuer can bear another request. Next: `admitted`, or none when the session gave it up.
        case held
        /// Counts at the issuer, and waits for its turn at the store; of a session that hosts share, first for the fleet.
        /// Next: `reserving`, or none where another host is at it.
        case admitted
        /// The store makes room for the answer. Next: `sent`, or none where it cannot.
        case reserving
        /// The request is out. Next: none, with the answer.
        case sent
    }

    /// One thing to do; a list of them is run in order.
    package enum Action: Equatable, Sendable {
        /// Ask the hosts that share the session; ``granted(_:)``, ``yielded(_:of:)`` or ``ended(_:of:_:at:)`` follows.
        case ask(Reservation)
        /// Send the request; ``ended(_:of:_:at:)`` follows.
        case send(SessionName, RefreshRequest)
        /// Tell the session that its issuer is not asked before `until`.
        case postpone(SessionName, AttemptNumber, until: Instant)
        /// The attempt of this session was given up before it was let in.
        case abandon(SessionName)
    }

    /// Room in the store for the answer to an attempt.
    package struct Reservation: Equatable, Sendable {
        package var session: SessionName
        package var attempt: AttemptNumber
        package var snapshot: SessionSnapshot
    }

    private struct Held {
        var step: Step
        var issuer: String
        /// It renews a live login, which can be told to wait longer.
        var isRefreshing: Bool
        var isShared: Bool
    }

    private struct Admitted {
        var attempt: AttemptNumber
        var issuer: String
        var stage = Stage.admitted
    }

    private var held: [SessionName: Held] = [:]
    private var admitted: [SessionName: Admitted] = [:]
    private var pacing: [String: IssuerPacing] = [:]
    private var reservations: [Reservation] = []
    private var isReserving = false

    package init() {}

    /// Every issuer that was ever asked.
    package var issuers: [String] { Array(pacing.keys) }

    /// How far the session's latest attempt is; `nil`: none is under way.
    package func stage(of name: SessionName) -> Stage? {
        held[name] == nil ? admitted[name]?.stage : .held
    }

    /// How many attempts are at `stage`.
    package func count(at stage: Stage) -> Int {
        stage == .held ? held.count : admitted.values.count { $0.stage == stage }
    }

    // MARK: Pace

    /// A session wants to take a step: at once if its attempt has been let in, else after ``admit(at:now:attempts:)``.
    package mutating func requested(
        _ step: Step,
        by session: Session,
        at issuer: String,
        now: Instant
    ) -> [Action] {
        if admitted[session.name]?.attempt == step.attempt { return perform(step, for: session.name) }
        held[session.name] = Held(
            step: step,
            issuer: issuer,
            isRefreshing: session.isRefreshing,
            isShared: session.policy.isShared
        )
        pacing[issuer, default: IssuerPacing(at: now)].requested(
            by: session.name,
            isReplay: session.isReplaying,
            isDemanded: session.isDemanded,
            isForeign: session.isForeignAttempt && !session.isDemanded,
            neededBy: session.neededBy ?? now,
            ratePerSecond: session.policy.refreshesPerSecond
        )
        return []
    }

    /// Somebody has joined the attempt of a session: while it is held, it goes before those nobody waits for.
    ///
    /// - Returns: the issuer that may let it in now; `nil`: nothing is held.
    package mutating func demanded(by session: Session, now: Instant) -> String? {
        guard let waiting = held[session.name] else { return nil }
        _ = requested(waiting.step, by: session, at: waiting.issuer, now: now)
        return waiting.issuer
    }

    /// Lets in what the issuer can bear now.
    ///
    /// - Parameters:
    ///   - issuer: whose turn it is.
    ///   - now: when.
    ///   - attempts: the number of a session's present attempt; `nil`: it has none, so what is held is given
    ///     up.
    /// - Returns: what is to be done.
    package mutating func admit(
        at issuer: String,
        now: Instant,
        attempts: (SessionName) -> AttemptNumber?
    ) -> [Action] {
        var actions: [Action] = []
        if let opening = pacing[issuer]?.closedUntil(at: now) {
            actions = postponeHeld(by: issuer, until: opening, attempts: attempts)
        }
        while let names = pacing[issuer]?.admit(at: now), !names.isEmpty {
            for name in names { actions += admit(name, at: issuer, attempt: attempts(name)) }
        }
        return actions
    }

    private mutating func admit(
        _ name: SessionName,
        at issuer: String,
        attempt: AttemptNumber?
    ) -> [Action] {
        guard let admission = held.removeValue(forKey: name), admission.step.attempt == attempt else {
            pacing[issuer]?.withdrawn(by: name)
            return [.abandon(name)]
        }
        let step = admission.step
        admitted[name] = Admitted(attempt: step.attempt, issuer: issuer)
        if admission.isShared, case .reserve(let attempt, let snapshot) = step {
            return [.ask(Reservation(session: name, attempt: attempt, snapshot: snapshot))]
        }
        return perform(step, for: name)
    }

    /// The hosts that share the session leave it to this one.
    package mutating func granted(_ reservation: Reservation) {
        reservations.append(reservation)
    }

    /// Tells the sessions whose refresh is held that it will not be made before `opening`.
    private mutating func postponeHeld(
        by issuer: String,
        until opening: Instant,
        attempts: (SessionName) -> AttemptNumber?
    ) -> [Action] {
        let names = held.filter { $0.value.issuer == issuer && $0.value.isRefreshing }.keys.sorted()
        return names.compactMap { name in
            guard let attempt = held.removeValue(forKey: name)?.step.attempt else { return nil }
            pacing[issuer]?.withdrawn(by: name)
            return attempt == attempts(name) ? .postpone(name, attempt, until: opening) : .abandon(name)
        }
    }

    private mutating func perform(_ step: Step, for name: SessionName) -> [Action] {
        switch step {
        case .reserve(let attempt, let snapshot):
            reservations.append(Reservation(session: name, attempt: attempt, snapshot: snapshot))
            return []
        case .send(let request):
            admitted[name]?.stage = .sent
            return [.send(name, request)]
        }
    }

    /// Another host is at it: meanwhile the issuer can bear other requests.
    ///
    /// - Returns: the issuer; `nil`: the attempt does not count any more.
    package mutating func yielded(_ attempt: AttemptNumber, of name: SessionName) -> String? {
        guard let slot = admitted[name], slot.attempt == attempt else { return nil }
        admitted[name] = nil
        pacing[slot.issuer]?.notAsked(by: name)
        return slot.issuer
    }

    /// When ``admit(at:now:attempts:)`` may have something new although nothing has ended.
    package func wakeTime(of issuer: String, now: Instant) -> Instant? {
        pacing[issuer]?.wakeTime(at: now)
    }

    /// The failures may have been the network's.
    package mutating func networkReturned() {
        for issuer in pacing.keys { pacing[issuer]?.networkReturned() }
    }

    /// An attempt has ended, one way or the other.
    ///
    /// - Parameters:
    ///   - attempt: which.
    ///   - name: whose.
    ///   - failure: `nil`: the issuer answered with tokens, or was not asked.
    ///   - now: when.
    /// - Returns: the issuer that can bear another one now; `nil`: the attempt does not count any more.
    package mutating func ended(
        _ attempt: AttemptNumber,
        of name: SessionName,
        _ failure: RefreshFailure?,
        now: Instant
    ) -> String? {
        guard let slot = admitted[name], slot.attempt == attempt else { return nil }
        admitted[name] = nil
        let consequences = failure?.kind.consequences
        if consequences?.isIssuersTrouble == true || failure?.retryAfter != nil {
            pacing[slot.issuer]?.finished(name, failure, at: now)
        } else if consequences?.tokenUse == .unsent {
            pacing[slot.issuer]?.notAsked(by: name)
        } else {
            pacing[slot.issuer]?.finished(name, nil, at: now)
        }
        return slot.issuer
    }

    /// Lets go of everything that is held back or counted: the agent locks or stops.
    package mutating func forget() {
        held = [:]
        admitted = [:]
        pacing = [:]
    }

    // MARK: Store

    /// The next room to make in the store; after that `nil` until ``reservationEnded()``.
    package mutating func nextReservation() -> Reservation? {
        guard !isReserving, !reservations.isEmpty else { return nil }
        isReserving = true
        let next = reservations.removeFirst()
        if admitted[next.session]?.attempt == next.attempt { admitted[next.session]?.stage = .reserving }
        return next
    }

    /// The last one that ``nextReservation()`` returned has been made, has failed, or is not wanted any more.
    package mutating func reservationEnded() {
        isReserving = false
    }
}
