// SPDX-License-Identifier: MIT

/// The queue of refresh attempts, limited by issuers and the store.
///
/// An attempt is held until its issuer can take another request, and admitted once for all its steps. First
/// the store reserves space for the response, for one attempt at a time, so that other work of the store
/// waits for at most one reservation. A response that has arrived is worth more than space for later ones.
/// Then the attempt is sent, and counts at its issuer until it has ended.
///
/// A session has at most one attempt held and one admitted: the response to an old one may be late while the
/// next waits.
///
/// - Entry points: ``requested(_:by:at:now:)``, ``admit(at:now:attempts:)``, ``ended(_:of:_:now:)``.
/// - May not: send or store anything. It returns ``Action``s for its caller to execute.
package struct RefreshQueue: Sendable {
    /// The next step of an attempt.
    package enum NextStep: Equatable, Sendable {
        case reserve(AttemptNumber, SessionSnapshot)
        case send(RefreshRequest)

        package var attempt: AttemptNumber {
            switch self {
            case .reserve(let attempt, _): attempt
            case .send(let request): request.attempt
            }
        }
    }

    /// The progress of an attempt in the queue.
    package enum Stage: Equatable, Sendable {
        /// The attempt waits until the issuer can take another request. Next: `admitted`, or none if the
        /// session cancels it.
        case held
        /// The attempt counts at the issuer and waits for the store. A shared session first waits for the
        /// fleet.
        ///
        /// Next: `reserving`, or none if another host is refreshing.
        case admitted
        /// The store is reserving space for the response. Next: `sent`, or none if it fails.
        case reserving
        /// The request is in flight. Next: none, with the response.
        case sent
    }

    /// An action for the caller.
    ///
    /// Actions are executed in order.
    package enum Action: Equatable, Sendable {
        /// Ask the hosts that share the session. ``granted(_:)``, ``yielded(_:of:)`` or
        /// ``ended(_:of:_:now:)`` follows.
        case ask(ReservationRequest)
        /// Send the request. ``ended(_:of:_:now:)`` follows.
        case send(SessionName, RefreshRequest)
        /// Tell the session that its issuer gets no request before `until`.
        case postpone(SessionName, AttemptNumber, until: Instant)
        /// Drop the attempt of this session, which was cancelled before it was admitted.
        case abandon(SessionName)
    }

    /// A request for space in the store for the response to an attempt.
    package struct ReservationRequest: Equatable, Sendable {
        package var session: SessionName
        package var attempt: AttemptNumber
        package var snapshot: SessionSnapshot
    }

    private struct HeldAttempt {
        var step: NextStep
        var issuer: String
        /// Whether the attempt refreshes a live login, which can be told to wait longer.
        var isRefreshing: Bool
        var isShared: Bool
    }

    private struct AdmittedAttempt {
        var attempt: AttemptNumber
        var issuer: String
        var stage = Stage.admitted
    }

    private var held: [SessionName: HeldAttempt] = [:]
    private var admitted: [SessionName: AdmittedAttempt] = [:]
    private var pacing: [String: IssuerPacing] = [:]
    private var reservations: [ReservationRequest] = []
    private var isReserving = false

    package init() {}

    /// Every issuer that ever had a request.
    package var issuers: [String] { Array(pacing.keys) }

    /// Returns the stage of the session's latest attempt, or `nil` if there is none.
    package func stage(of name: SessionName) -> Stage? {
        held[name] == nil ? admitted[name]?.stage : .held
    }

    /// Returns the number of attempts at `stage`.
    package func count(at stage: Stage) -> Int {
        stage == .held ? held.count : admitted.values.count { $0.stage == stage }
    }

    // MARK: Pace

    /// Requests a step of a session: now if its attempt is admitted, else after ``admit(at:now:attempts:)``.
    package mutating func requested(
        _ step: NextStep,
        by session: Session,
        at issuer: String,
        now: Instant
    ) -> [Action] {
        if admitted[session.name]?.attempt == step.attempt { return perform(step, for: session.name) }
        held[session.name] = HeldAttempt(
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

    /// Raises the priority of a session's held attempt because a request joined it.
    ///
    /// - Returns: the issuer that may admit the attempt now, or `nil` if nothing is held.
    package mutating func demanded(by session: Session, now: Instant) -> String? {
        guard let waiting = held[session.name] else { return nil }
        _ = requested(waiting.step, by: session, at: waiting.issuer, now: now)
        return waiting.issuer
    }

    /// Admits the attempts that the issuer can take now.
    ///
    /// - Parameters:
    ///   - issuer: the issuer.
    ///   - now: the current time.
    ///   - attempts: returns the number of a session's current attempt, or `nil` if it has none. A held
    ///     attempt with another number is dropped.
    /// - Returns: the actions to execute.
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
        admitted[name] = AdmittedAttempt(attempt: step.attempt, issuer: issuer)
        if admission.isShared, case .reserve(let attempt, let snapshot) = step {
            return [.ask(ReservationRequest(session: name, attempt: attempt, snapshot: snapshot))]
        }
        return perform(step, for: name)
    }

    /// Queues the reservation after the hosts that share the session have left the refresh to this one.
    package mutating func granted(_ reservation: ReservationRequest) {
        reservations.append(reservation)
    }

    /// Tells the sessions whose refresh is held that it will not be sent before `opening`.
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

    private mutating func perform(_ step: NextStep, for name: SessionName) -> [Action] {
        switch step {
        case .reserve(let attempt, let snapshot):
            reservations.append(ReservationRequest(session: name, attempt: attempt, snapshot: snapshot))
            return []
        case .send(let request):
            admitted[name]?.stage = .sent
            return [.send(name, request)]
        }
    }

    /// Ends the admission of an attempt because another host is refreshing.
    ///
    /// The issuer can take other requests.
    ///
    /// - Returns: the issuer, or `nil` if the attempt no longer counts.
    package mutating func yielded(_ attempt: AttemptNumber, of name: SessionName) -> String? {
        guard let slot = admitted[name], slot.attempt == attempt else { return nil }
        admitted[name] = nil
        pacing[slot.issuer]?.notAsked(by: name)
        return slot.issuer
    }

    /// Returns the time at which ``admit(at:now:attempts:)`` may admit more, even if nothing ends before.
    package func wakeTime(of issuer: String, now: Instant) -> Instant? {
        pacing[issuer]?.wakeTime(at: now)
    }

    /// Resets the failures of all issuers, because the network may have caused them.
    package mutating func networkReturned() {
        for issuer in pacing.keys { pacing[issuer]?.networkReturned() }
    }

    /// Ends an attempt, successful or not.
    ///
    /// - Parameters:
    ///   - attempt: the number of the attempt.
    ///   - name: its session.
    ///   - failure: the failure, or `nil` if the issuer responded with tokens or got no request.
    ///   - now: the time at which the attempt ended.
    /// - Returns: the issuer that can take another request now, or `nil` if the attempt no longer counts.
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

    /// Removes all held and admitted attempts, because the agent locks or stops.
    package mutating func forget() {
        held = [:]
        admitted = [:]
        pacing = [:]
    }

    // MARK: Store

    /// Returns the next reservation to make in the store.
    ///
    /// Then it returns `nil` until ``reservationEnded()``.
    package mutating func nextReservation() -> ReservationRequest? {
        guard !isReserving, !reservations.isEmpty else { return nil }
        isReserving = true
        let next = reservations.removeFirst()
        if admitted[next.session]?.attempt == next.attempt { admitted[next.session]?.stage = .reserving }
        return next
    }

    /// Ends the last reservation of ``nextReservation()``: it was made, failed or is no longer required.
    package mutating func reservationEnded() {
        isReserving = false
    }
}
