// SPDX-License-Identifier: MIT

/// The queue of refresh attempts, limited by issuers.
///
/// An attempt is held until its issuer can take another request. Then it is admitted, and counts at its issuer until
/// it has ended.
///
/// A session has at most one attempt held and one admitted: the response to an old one may be late while the
/// next waits.
///
/// - Entry points: ``requested(_:by:at:now:)``, ``admit(at:now:attempts:)``, ``ended(_:of:_:now:)``.
/// - May not: send or store anything. It returns ``Action``s for its caller to execute.
package struct RefreshQueue: Sendable {
    /// The progress of an attempt in the queue.
    package enum Stage: Equatable, Sendable {
        /// The attempt waits until the issuer can take another request. Next: `admitted`, or none if the
        /// session cancels it.
        case held
        /// The attempt counts at the issuer. Next: none, when it has ended or another host is refreshing.
        case admitted
    }

    /// An action for the caller.
    ///
    /// Actions are executed in order.
    package enum Action: Equatable, Sendable {
        /// Continue the attempt. ``yielded(_:of:)`` or ``ended(_:of:_:now:)`` follows.
        case admit(SessionName, AttemptNumber)
        /// Tell the session that its issuer gets no request before `until`.
        case postpone(SessionName, AttemptNumber, until: Instant)
        /// Drop the attempt of this session, which was cancelled before it was admitted.
        case abandon(SessionName, AttemptNumber)
    }

    private struct HeldAttempt {
        var attempt: AttemptNumber
        var issuer: String
        /// Whether the attempt refreshes a live login, which can be told to wait longer.
        var isRefreshing: Bool
    }

    private struct AdmittedAttempt {
        var attempt: AttemptNumber
        var issuer: String
    }

    private var held: [SessionName: HeldAttempt] = [:]
    private var admitted: [SessionName: AdmittedAttempt] = [:]
    private var pacing: [String: IssuerPacing] = [:]

    package init() {}

    /// Every issuer that ever had a request.
    package var issuers: [String] { Array(pacing.keys) }

    /// Returns the stage of the session's latest attempt, or `nil` if there is none.
    package func stage(of name: SessionName) -> Stage? {
        if held[name] != nil { return .held }
        return admitted[name] == nil ? nil : .admitted
    }

    /// Returns the number of attempts at `stage`.
    package func count(at stage: Stage) -> Int {
        stage == .held ? held.count : admitted.count
    }

    /// Returns whether this attempt counts at its issuer.
    package func isAdmitted(_ attempt: AttemptNumber, of name: SessionName) -> Bool {
        admitted[name]?.attempt == attempt
    }

    /// Holds the session's attempt until ``admit(at:now:attempts:)`` admits it.
    package mutating func requested(
        _ attempt: AttemptNumber,
        by session: Session,
        at issuer: String,
        now: Instant
    ) {
        held[session.name] = HeldAttempt(attempt: attempt, issuer: issuer, isRefreshing: session.isRefreshing)
        pacing[issuer, default: IssuerPacing(at: now)].requested(
            by: session.name,
            isReplay: session.isReplaying,
            isDemanded: session.isDemanded,
            isForeign: session.isForeignAttempt && !session.isDemanded,
            neededBy: session.neededBy ?? now,
            ratePerSecond: session.policy.refreshesPerSecond
        )
    }

    /// Raises the priority of a session's held attempt because a request joined it.
    ///
    /// - Returns: the issuer that may admit the attempt now, or `nil` if nothing is held.
    package mutating func demanded(by session: Session, now: Instant) -> String? {
        guard let waiting = held[session.name] else { return nil }
        requested(waiting.attempt, by: session, at: waiting.issuer, now: now)
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
        guard let admission = held.removeValue(forKey: name) else {
            pacing[issuer]?.withdrawn(by: name)
            return []
        }
        guard admission.attempt == attempt else {
            pacing[issuer]?.withdrawn(by: name)
            return [.abandon(name, admission.attempt)]
        }
        admitted[name] = AdmittedAttempt(attempt: admission.attempt, issuer: issuer)
        return [.admit(name, admission.attempt)]
    }

    /// Tells the sessions whose refresh is held that it will not be sent before `opening`.
    private mutating func postponeHeld(
        by issuer: String,
        until opening: Instant,
        attempts: (SessionName) -> AttemptNumber?
    ) -> [Action] {
        let names = held.filter { $0.value.issuer == issuer && $0.value.isRefreshing }.keys.sorted()
        return names.compactMap { name in
            guard let attempt = held.removeValue(forKey: name)?.attempt else { return nil }
            pacing[issuer]?.withdrawn(by: name)
            return attempt == attempts(name)
                ? .postpone(name, attempt, until: opening) : .abandon(name, attempt)
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
}
