// SPDX-License-Identifier: MIT

/// One host's part in one shared session, as a pure state machine.
///
/// It reads etcd, decides on the result (``FleetDecision``), executes one action, and reads again until
/// nothing is left to do. Every decision is a rule on one ``FleetSnapshot``, and every transaction compares
/// what the rule saw. So a lost response, a pause or a restart at any step needs no case of its own: the next
/// read shows the effect.
///
/// Events arrive as method calls, and ``FleetAction``s are returned. After a crash only ``memory`` is left.
///
/// - May not: use a clock, or talk to etcd or servers. Its caller executes the actions.
package struct FleetMember: Equatable, Sendable {
    /// The state that outlives the process.
    package private(set) var memory: FleetPersistentState
    package private(set) var timing: FleetTiming
    let role: FleetRole
    private(set) var step = FleetMemberPhase.idle
    private(set) var pendingRefresh: RefreshAwaitingLock?
    private(set) var hold: RefreshClaim?
    private(set) var refusals: RefreshTokenRejections?
    /// A login or a logout on this host that waits for the current step to end.
    private(set) var news: FleetHeader?
    private(set) var lookout = FleetPollSchedule()
    /// The record in etcd that this host has to seal again under the fleet's newest key.
    ///
    /// It is `nil` if there is none, or this host has done what it can.
    private(set) var outsealed: FleetHeader?
    /// The record for which the session was last told that a reader requests a newer token.
    private var asked: FleetHeader?
    /// The number of consecutive reservations that took too long to leave time for sending the refresh token.
    private(set) var delays = 0

    /// Creates the member when the agent starts.
    ///
    /// ``started(at:)`` follows.
    package init(_ memory: FleetPersistentState, timing: FleetTiming, role: FleetRole = .keeper) {
        self.memory = memory
        self.timing = timing
        self.role = role
        // A reader sends nothing, even if it was a keeper before.
        if role == .keeper, memory.sending != nil { step = .interrupted }
    }

    /// Whether no step is in progress.
    package var isAtRest: Bool { step == .idle }

    /// Whether an earlier process may have sent a request, and it is not known yet if the response is stored
    /// on this host.
    package var isInterrupted: Bool { step == .interrupted || step == .recovering }

    /// Whether the member waits for etcd or for this host's disk.
    package var isBusy: Bool { step.isBrief }

    /// The next time at which ``timeReached(_:)`` is required.
    package var wakeTime: Instant? { isAtRest ? lookout.wakeTime : nil }

    // MARK: Events

    /// Starts the work after a start of the agent, whatever step the earlier process was in.
    package mutating func started(at now: Instant) -> [FleetAction] { changed(at: now) }

    /// Reads etcd, because the watch reports a change or may have missed one.
    package mutating func changed(at now: Instant) -> [FleetAction] {
        lookout.hear()
        return step == .idle ? look(at: now) : []
    }

    /// Processes a snapshot of the session's keys from the watch.
    ///
    /// It replaces ``changed(at:)`` where all keys are known. A record can be adopted, and a session told to
    /// wait, without a range request. Any write or request to a server is decided on a read. A snapshot older
    /// than the known one changes nothing.
    ///
    /// - Parameters:
    ///   - view: all of the session's keys. Its time is etcd's as this host estimates it.
    ///   - now: the current time.
    /// - Returns: the actions to execute.
    package mutating func shown(_ view: FleetSnapshot, at now: Instant) -> [FleetAction] {
        // A read tells whether etcd was restored from a snapshot.
        guard let known = memory.place, view.place.cluster == known.cluster else { return changed(at: now) }
        guard !view.place.contradicts(known) else { return [] }
        guard step == .idle else {
            lookout.hear(upTo: view.place)
            return []
        }
        let owesNothing = memory.answer == nil && !memory.isUnpublished && !memory.isRestored
        guard !lookout.isUnsettled, hold == nil, owesNothing else { return changed(at: now) }
        return decide(on: view, viewedSince: nil, at: now)
    }

    /// Reads etcd if ``wakeTime`` has come.
    package mutating func timeReached(_ now: Instant) -> [FleetAction] {
        guard let wakeTime, wakeTime <= now else { return [] }
        return look(at: now)
    }

    /// Requests a refresh for the session.
    ///
    /// - Parameters:
    ///   - attempt: a name for the attempt, never used before.
    ///   - expiry: the expiry of the record's access token, or `nil` if it has none or nobody is served with
    ///     it.
    ///   - now: the current time.
    /// - Returns: the actions to execute. One of `grant`, `recover`, `postpone`, `refuse` and `adopt`
    ///   follows, perhaps after `hold`.
    package mutating func refreshWanted(
        as attempt: AttemptID,
        expiry: Instant?,
        at now: Instant
    ) -> [FleetAction] {
        if step == .interrupted, let sending = memory.sending { return recover(sending) }
        pendingRefresh = RefreshAwaitingLock(attempt: attempt, expiry: expiry)
        lookout.ask()
        return step == .idle ? look(at: now) : []
    }

    /// Cancels the session's request to refresh.
    package mutating func refreshWithdrawn() { pendingRefresh = nil }

    /// Requests that the record in etcd is sealed again, because this host has a newer key of the fleet.
    package mutating func resealWanted(at now: Instant) -> [FleetAction] {
        guard role == .keeper, !memory.isUnpublished, let record = memory.record else { return [] }
        outsealed = record
        lookout.ask()
        return step == .idle ? look(at: now) : []
    }

    /// Adopts the known record again because the session lacks its tokens and can have them now.
    package mutating func tokensMissed(at now: Instant) -> [FleetAction] {
        guard step == .idle, memory.answer == nil, !memory.isUnpublished, let record = memory.record else {
            return []
        }
        return keep(memory, telling: [.adopt(record)], at: now)
    }

    /// Publishes a login that the user made here.
    ///
    /// - Parameters:
    ///   - id: 128 random bits.
    ///   - attempt: the attempt that brought the tokens.
    ///   - tokenMark: the mark of the refresh token.
    ///   - time: etcd's time, if this host knows it.
    ///   - now: the current time.
    /// - Returns: the actions to execute. `finishNews` follows.
    package mutating func loggedIn(
        _ id: UInt128,
        as attempt: AttemptID,
        tokenMark: UInt64,
        time: FleetTime?,
        at now: Instant
    ) -> [FleetAction] {
        let lineage = Lineage(id, after: memory.record?.lineage, at: time)
        return take(
            FleetHeader(login: lineage, attempt, tokenMark: tokenMark, in: memory.place?.cluster),
            at: now
        )
    }

    /// Publishes a logout that the user made here, which ends the known login in the whole fleet.
    ///
    /// - Returns: the actions to execute. `finishNews` follows, unless the login is known to have ended.
    package mutating func loggedOut(at now: Instant) -> [FleetAction] {
        guard let record = memory.record, record.status != .out else { return [] }
        return take(record.loggedOut(), at: now)
    }

    private mutating func take(_ header: FleetHeader, at now: Instant) -> [FleetAction] {
        news = header
        if step == .interrupted { step = .idle }
        return refuseWish("the login has changed") + (step == .idle ? proceed(at: now) : [])
    }

    /// Changes the timing, because the server may handle refresh tokens differently than presumed.
    package mutating func serverFound(_ timing: FleetTiming) { self.timing = timing }

    // MARK: Reading

    private mutating func look(at now: Instant) -> [FleetAction] {
        lookout.begin()
        step = .looking(knowing: memory.place, since: now)
        return [.look]
    }

    /// Handles a failed request to etcd: a read, a lease, or a transaction that also would not succeed now.
    ///
    /// `jitter` is in `0..<1`, so that not all hosts return together.
    package mutating func callFailed(jitter: Double = 0, at now: Instant) -> [FleetAction] {
        switch step {
        case .looking, .leasing: break
        case .transacting: lookout.refuseWrite()
        case .idle, .interrupted, .exchanging, .recovering, .keeping: return []
        }
        return fail(jitter: jitter, at: now)
    }

    /// Fails the session's request to refresh, because nothing is sent to the server without etcd.
    ///
    /// Unpublished changes are retried.
    private mutating func fail(jitter: Double, at now: Instant) -> [FleetAction] {
        let told = refuseWish("no response from etcd")
        lookout.fail(owing: memory.isUnpublished || memory.answer != nil, jitter: jitter, at: now)
        step = .idle
        return told + proceed(at: now)
    }

    private mutating func refuseWish(_ message: String) -> [FleetAction] {
        guard let pendingRefresh else { return [] }
        self.pendingRefresh = nil
        return [.refuse(pendingRefresh.attempt, StorageFailure(message: message))]
    }

    /// Processes a read of etcd.
    package mutating func looked(_ view: FleetSnapshot, at now: Instant) -> [FleetAction] {
        guard case .looking(let known, let since) = step else { return [] }
        lookout.see(view.place)
        // The revision is compared with that before the read, because the watch may have overtaken the
        // response.
        let isBack = known.map { view.place.cluster == $0.cluster && view.place.contradicts($0) } ?? false
        guard isBack, !memory.isRestored else { return decide(on: view, viewedSince: since, at: now) }
        memory.place = view.place
        return keep(memory.restored, at: now)
    }

    /// Decides on a snapshot.
    ///
    /// - Parameters:
    ///   - view: the snapshot.
    ///   - viewedSince: the start of the read, or `nil` if `view` is from the watch.
    ///   - now: the current time.
    /// - Returns: the actions to execute.
    private mutating func decide(
        on view: FleetSnapshot,
        viewedSince: Instant?,
        at now: Instant
    ) -> [FleetAction] {
        memory.place = view.place
        var look = FleetDecision(at: view, of: self, now: now)
        let next = look.decide()
        hold = look.hold
        return perform(next, look, viewedSince: viewedSince, at: now)
    }

    private mutating func perform(
        _ next: FleetDecision.Next,
        _ look: FleetDecision,
        viewedSince: Instant?,
        at now: Instant
    ) -> [FleetAction] {
        guard viewedSince != nil || !next.needsLook else { return self.look(at: now) }
        switch next {
        case .transact(let errand): return transact(errand)
        case .keep(let memory, let telling):
            return keep(memory, telling: telling, shown: viewedSince == nil ? look.view : nil, at: now)
        case .granted: return granted(look.view.place, at: now)
        case .end(let stage): return end(stage, at: now)
        case .reserve:
            pendingRefresh?.takeTurn(within: look.maximumClaimDuration, at: now)
            if let turn = pendingRefresh?.turn, now < turn { return rest(until: turn, at: now) }
            guard let viewedSince else { return self.look(at: now) }
            step = .leasing(look, viewedSince: viewedSince, since: now)
            return [.grantLease(timing.lease(afterDelays: delays))]
        case .wait: return wait(look, at: now)
        case .postpone(let time): return postpone(time, look, at: now)
        case .notLive:
            guard let record = memory.record else {
                return refuseWish("no host of the fleet is logged in to this session") + rest(at: now)
            }
            pendingRefresh = nil
            return [.adopt(record)] + rest(at: now)
        case .rest: return forwardReaderRequest(look.view) + rest(at: now)
        }
    }

    private mutating func wait(_ look: FleetDecision, at now: Instant) -> [FleetAction] {
        guard let pendingRefresh else { return rest(at: now) }
        self.pendingRefresh?.hold()
        return look.told(to: pendingRefresh) + rest(until: now + look.nextLook, at: now)
    }

    /// Tells the session not to refresh before `time`.
    ///
    /// All hosts that wait for one moment return spread over the delay that follows it.
    private mutating func postpone(_ time: FleetTime, _ look: FleetDecision, at now: Instant) -> [FleetAction]
    {
        guard let pendingRefresh else { return rest(at: now) }
        self.pendingRefresh = nil
        let until = now + (time - look.view.time) + timing.maximumClaimDuration * pendingRefresh.attempt.share
        return look.asked + [.postpone(pendingRefresh.attempt, until: until)] + rest(at: now)
    }

    /// Tells the session that a reader requests a newer token, once for each record.
    private mutating func forwardReaderRequest(_ view: FleetSnapshot) -> [FleetAction] {
        guard role == .keeper, let record = view.recordAsked, asked != record else { return [] }
        asked = record
        return [.asked]
    }

    /// Ends the current step; the next read is due at `time`, or when something changes.
    private mutating func rest(until time: Instant? = nil, at now: Instant) -> [FleetAction] {
        step = .idle
        lookout.rest(until: time)
        return proceed(at: now)
    }

    /// Continues with a login, a logout or a change in etcd that arrived during the step that has just ended.
    private mutating func proceed(at now: Instant) -> [FleetAction] {
        guard news == nil else { return keep(memory, at: now) }
        return lookout.isNeeded ? look(at: now) : []
    }

    // MARK: Reserving

    /// Reserves the refresh with a lease that etcd has granted.
    ///
    /// - Parameters:
    ///   - lifetime: the lifetime of the lease, which etcd may make longer than requested.
    ///   - place: the revision of the response.
    ///   - now: the current time.
    /// - Returns: the actions to execute.
    package mutating func leaseGranted(
        _ lifetime: Duration,
        _ place: FleetRevision,
        at now: Instant
    ) -> [FleetAction] {
        guard case .leasing(let seen, let viewed, let since) = step else { return [] }
        let view = seen.view
        guard let pendingRefresh, let record = view.record, !place.contradicts(view.place) else {
            return look(at: now)
        }
        let leaseEnds = since + lifetime
        let hold = RefreshClaim(
            for: pendingRefresh.attempt,
            record,
            seen,
            viewed: viewed,
            leaseEnds: leaseEnds,
            at: now
        )
        self.hold = hold
        return transact(.reserve(hold, over: view.intent))
    }

    /// Lets the session send its refresh token, if the reservation is in etcd in time and in the cluster that
    /// was read.
    private mutating func granted(_ place: FleetRevision, at now: Instant) -> [FleetAction] {
        guard let hold else { return look(at: now) }
        recordDelay(of: hold, at: now)
        guard let pendingRefresh, pendingRefresh.attempt == hold.intent.attempt, news == nil,
            hold.counts(place, at: now)
        else {
            return end(.untouched, at: now)
        }
        self.hold?.stage = .granted
        self.pendingRefresh = nil
        memory.sending = hold.sending
        step = .exchanging
        return [.grant(hold.intent.attempt, hold.record, until: hold.deadline)]
    }

    /// Counts a lease that left no time to send.
    ///
    /// The next lease is longer.
    private mutating func recordDelay(of hold: RefreshClaim, at now: Instant) {
        if now >= hold.deadline { delays += 1 }
    }

    /// The deadlines of the request that may be sent now, or `nil` if none may be sent.
    package var fence: RefreshRequestDeadlines? {
        step == .exchanging || step == .recovering ? hold?.fence : nil
    }

    /// Tells the session to look on this host for the response to a request of an earlier process.
    private mutating func recover(_ sending: PendingSend) -> [FleetAction] {
        hold = RefreshClaim(recovering: sending)
        step = .recovering
        return [.recover(sending.intent.attempt)]
    }

    /// Ends this host's claim in etcd as `stage` requires.
    private mutating func end(_ stage: RefreshClaim.Stage, at now: Instant) -> [FleetAction] {
        hold?.stage = stage
        let isTooLate = pendingRefresh?.attempt == hold?.intent.attempt
        let told = isTooLate ? refuseWish("etcd responded too late") : []
        guard let errand = hold?.ending else { return told + look(at: now) }
        return told + transact(errand)
    }

    /// Ends the exchange that was granted.
    ///
    /// - Parameters:
    ///   - answer: the result. `untouched` if the timer fired before the request was sent, or if this host
    ///     could not look for a stored response. `unanswered` if no response is stored here.
    ///   - jitter: a random number in `0..<1`.
    ///   - now: the current time.
    /// - Returns: the actions to execute, with `postpone` if a rejection has to be confirmed.
    package mutating func answered(
        _ answer: FleetRefreshOutcome,
        jitter: Double,
        at now: Instant
    ) -> [FleetAction] {
        guard step == .exchanging || step == .recovering, let hold else { return [] }
        let isRecovered = step == .recovering
        guard answer != .untouched || !isRecovered else { return scheduleRead(at: now) }
        if answer == .untouched { recordDelay(of: hold, at: now) } else { delays = max(delays - 1, 0) }
        memory.sending = nil
        switch answer {
        case .tokens(let tokenMark):
            self.hold = nil
            var next = memory
            next.answer = hold.answer(tokenMark)
            return keep(next, at: now)
        case .untouched: return end(.untouched, at: now)
        // The request may still be in flight. Its lock remains until its lease ends, as if the host were
        // gone.
        case .unanswered where isRecovered:
            self.hold = nil
            return look(at: now)
        case .unanswered: return end(.unanswered, at: now)
        case .refused(let reason, let confirmations):
            let refusals = RefreshTokenRejections(of: hold, after: refusals)
            self.refusals = refusals
            guard refusals.attempts.count > confirmations else {
                let until = now + RetrySchedule.confirmationDelay(jitter: jitter)
                return [.postpone(hold.intent.attempt, until: until)] + end(.doubted, at: now)
            }
            return end(.refused(refusals.believed(reason, after: hold.intent)), at: now)
        }
    }

    /// Looks again later for the response to a request of an earlier process, unless a login or logout has
    /// made the response needless.
    private mutating func scheduleRead(at now: Instant) -> [FleetAction] {
        hold = nil
        step = news == nil ? .interrupted : .idle
        return news == nil ? [] : proceed(at: now)
    }

    // MARK: Writing

    private mutating func transact(_ errand: FleetWrite) -> [FleetAction] {
        step = .transacting(errand)
        lookout.unsettle()
        return [.transact(errand.transaction)]
    }

    /// Handles a transaction without a response: reads etcd, because the transaction may have been carried
    /// out.
    package mutating func transactionUnanswered(at now: Instant) -> [FleetAction] {
        guard case .transacting = step else { return [] }
        return look(at: now)
    }

    /// Processes etcd's response to a transaction.
    ///
    /// - Parameters:
    ///   - isDone: whether all conditions held. Otherwise nothing was changed.
    ///   - place: the revision of the response.
    ///   - now: the current time.
    /// - Returns: the actions to execute.
    package mutating func transacted(_ isDone: Bool, _ place: FleetRevision, at now: Instant) -> [FleetAction]
    {
        guard case .transacting(let errand) = step else { return [] }
        // Reads do not show what transactions find here, so the same decision would be made again at once.
        guard isDone || !lookout.decline(errand) else { return callFailed(at: now) }
        lookout.succeed()
        if let known = memory.place, !place.contradicts(known) { memory.place = place }
        if isDone, case .reserve = errand { return granted(place, at: now) }
        if errand.endsHold(isDone) { hold = nil }
        if case .reseal = errand { outsealed = nil }
        guard isDone, let (next, telling) = errand.consequence(for: memory, in: place.cluster) else {
            return look(at: now)
        }
        return keep(next, telling: telling, at: now)
    }

    /// Makes `next` durable, together with a login or logout that was made meanwhile.
    private mutating func keep(
        _ next: FleetPersistentState,
        telling: [FleetAction] = [],
        shown view: FleetSnapshot? = nil,
        at now: Instant
    ) -> [FleetAction] {
        var (next, telling) = (next, telling)
        if let news {
            let (taken, result) = next.taking(news)
            next = taken
            telling += result.filter { !telling.contains($0) }
        }
        news = nil
        next.place = memory.place
        step = .keeping(next, telling: telling, shown: view)
        return [.keep(next)]
    }

    /// Continues after the state of a ``FleetAction/keep(_:)`` is durable, or as safe as it could be made.
    package mutating func kept(at now: Instant) -> [FleetAction] {
        guard case .keeping(let next, let telling, let view) = step else { return [] }
        let isNewAnswer = memory.answer?.attempt != next.answer?.attempt
        let told = telling + settlePendingRefresh(next, telling)
        memory = next
        if outsealed != next.record { outsealed = nil }
        // No read is needed for a response that has just arrived, or after a snapshot of the watch.
        if isNewAnswer, let answer = next.answer, !next.isUnpublished, news == nil {
            return told + transact(.commit(answer.header, answer))
        }
        guard let view, !next.isUnpublished, news == nil, !lookout.isNeeded else {
            return told + look(at: now)
        }
        return told + decide(on: view, viewedSince: nil, at: now)
    }

    /// Ends the session's request to refresh, if the session has other tokens now.
    ///
    /// The session requests again if necessary.
    ///
    /// This includes requests made while the record was being written to the disk.
    private mutating func settlePendingRefresh(
        _ next: FleetPersistentState,
        _ telling: [FleetAction]
    ) -> [FleetAction] {
        if telling.contains(where: \.isAdoption) { pendingRefresh = nil }
        // The session has had the tokens of this host's own response since they arrived.
        let isOwn = next.record?.attempt == memory.answer?.attempt
        let isOther = next.record != memory.record && !isOwn || next.isUnpublished != memory.isUnpublished
        return isOther ? refuseWish("the login has changed") : []
    }
}
