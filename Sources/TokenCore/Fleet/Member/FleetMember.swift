// SPDX-License-Identifier: MIT

/// One host's part in one session of the fleet: a pure state machine.
///
/// It looks at etcd, decides on what it sees (``FleetDecision``), does one thing, and looks again until there is nothing
/// left to do. Every decision is a rule on one ``FleetSnapshot``, and every transaction compares what the rule saw. So an
/// answer that is lost, a pause or a restart at any step needs no case of its own: the next look shows what has become
/// of it.
///
/// Events come in as method calls, ``FleetAction``s come out. After a crash only ``memory`` is left.
package struct FleetMember: Equatable, Sendable {
    /// What outlives the process.
    package private(set) var memory: FleetPersistentState
    package private(set) var timing: FleetTiming
    let role: FleetRole
    private(set) var step = FleetMemberState.idle
    private(set) var wish: PendingRefresh?
    private(set) var hold: RefreshClaim?
    private(set) var refusals: FleetRefusals?
    /// A login or a logout that waits for what is under way.
    private(set) var news: FleetHeader?
    private(set) var lookout = FleetPollSchedule()
    /// The record that the fleet's newest key has not sealed yet; `nil`: none, or this host has done what it can.
    private(set) var outsealed: FleetHeader?
    /// The record of which the session knows that a reader wants another.
    private var asked: FleetHeader?
    /// How many reservations in a row left no time to send.
    private(set) var delays = 0

    /// A host that starts; ``started(at:)`` follows.
    package init(_ memory: FleetPersistentState, timing: FleetTiming, role: FleetRole = .keeper) {
        self.memory = memory
        self.timing = timing
        self.role = role
        // A reader sends nothing, also if it was a keeper.
        if role == .keeper, memory.sending != nil { step = .interrupted }
    }

    /// Nothing is under way.
    package var isAtRest: Bool { step == .idle }

    /// The process was stopped when it may have sent something, and whether the answer lies here is not known yet.
    package var isInterrupted: Bool { step == .interrupted || step == .recovering }

    /// It waits for etcd or for this host's disk.
    package var isBusy: Bool { step.isBrief }

    /// When ``timeReached(_:)`` is next needed.
    package var wakeTime: Instant? { isAtRest ? lookout.wakeTime : nil }

    // MARK: Occasions

    /// The host starts, and may have been stopped at any moment.
    package mutating func started(at now: Instant) -> [FleetAction] { changed(at: now) }

    /// The watch says that something has changed, or that it does not know.
    package mutating func changed(at now: Instant) -> [FleetAction] {
        lookout.hear()
        return step == .idle ? look(at: now) : []
    }

    /// The watch shows the session's keys as they stood at the view's place.
    ///
    /// In place of ``changed(at:)`` where all keys are known: a record can be adopted, and a session told to wait, without
    /// a range of its own. Whatever is to be written, or sent, is decided on a look, and a view older than what is known
    /// changes nothing.
    ///
    /// - Parameters:
    ///   - view: all of the session's keys; its time is etcd's as this host reckons it.
    ///   - now: now.
    /// - Returns: what to do.
    package mutating func shown(_ view: FleetSnapshot, at now: Instant) -> [FleetAction] {
        // Whether etcd was put back to a snapshot, a look tells.
        guard let known = memory.place, view.place.cluster == known.cluster else { return changed(at: now) }
        guard !view.place.contradicts(known) else { return [] }
        guard step == .idle else {
            lookout.hear(upTo: view.place)
            return []
        }
        let owesNothing = memory.answer == nil && !memory.isNews && !memory.isRestored
        guard !lookout.isUnsettled, hold == nil, owesNothing else { return changed(at: now) }
        return decide(on: view, viewedSince: nil, at: now)
    }

    /// A moment at or after ``wakeTime`` has come.
    package mutating func timeReached(_ now: Instant) -> [FleetAction] {
        guard let wakeTime, wakeTime <= now else { return [] }
        return look(at: now)
    }

    /// The session wants to refresh.
    ///
    /// - Parameters:
    ///   - attempt: a name for the attempt, never used before.
    ///   - expiry: when the access token of the record ends; `nil`: never, or nobody is served with it.
    ///   - now: now.
    /// - Returns: what to do; one of `grant`, `recover`, `postpone`, `refuse` and `adopt` answers it, perhaps after
    ///   `hold`.
    package mutating func refreshWanted(
        as attempt: AttemptID,
        expiry: Instant?,
        at now: Instant
    ) -> [FleetAction] {
        if step == .interrupted, let sending = memory.sending { return recover(sending) }
        wish = PendingRefresh(attempt: attempt, expiry: expiry)
        lookout.ask()
        return step == .idle ? look(at: now) : []
    }

    /// The session does not want to refresh any more.
    package mutating func refreshWithdrawn() { wish = nil }

    /// This host has a newer key of the fleet than the record is sealed under.
    package mutating func resealWanted(at now: Instant) -> [FleetAction] {
        guard role == .keeper, !memory.isNews, let record = memory.record else { return [] }
        outsealed = record
        lookout.ask()
        return step == .idle ? look(at: now) : []
    }

    /// The session does not have the tokens of the record that this host knows, and can have them now.
    package mutating func tokensMissed(at now: Instant) -> [FleetAction] {
        guard step == .idle, memory.answer == nil, !memory.isNews, let record = memory.record else {
            return []
        }
        return keep(memory, telling: [.adopt(record)], at: now)
    }

    /// A person has logged in here.
    ///
    /// - Parameters:
    ///   - id: 128 random bits.
    ///   - attempt: whose tokens they are.
    ///   - tokenMark: of the refresh token.
    ///   - time: etcd's time, if this host knows it.
    ///   - now: now.
    /// - Returns: what to do; `finishNews` answers it.
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

    /// A person has logged out here: the login that this host knows is over in the whole fleet.
    ///
    /// - Returns: what to do; `finishNews` answers it, unless the login is known to be over.
    package mutating func loggedOut(at now: Instant) -> [FleetAction] {
        guard let record = memory.record, record.status != .out else { return [] }
        return take(record.loggedOut(), at: now)
    }

    private mutating func take(_ header: FleetHeader, at now: Instant) -> [FleetAction] {
        news = header
        if step == .interrupted { step = .idle }
        return refuseWish("the login has changed") + (step == .idle ? proceed(at: now) : [])
    }

    /// What the server does with refresh tokens may have turned out to be something else.
    package mutating func serverFound(_ timing: FleetTiming) { self.timing = timing }

    // MARK: Looking

    private mutating func look(at now: Instant) -> [FleetAction] {
        lookout.begin()
        step = .looking(knowing: memory.place, since: now)
        return [.look]
    }

    /// etcd could not be read, has granted no lease, or has not carried a transaction out and would not do so now either.
    ///
    /// `jitter` is in `0..<1`, so that hosts do not all come back together.
    package mutating func callFailed(jitter: Double = 0, at now: Instant) -> [FleetAction] {
        switch step {
        case .looking, .leasing: break
        case .transacting: lookout.refuseWrite()
        case .idle, .interrupted, .exchanging, .recovering, .keeping: return []
        }
        return fail(jitter: jitter, at: now)
    }

    /// Without etcd nothing is sent; what is owed to it is tried again.
    private mutating func fail(jitter: Double, at now: Instant) -> [FleetAction] {
        let told = refuseWish("etcd does not answer")
        lookout.fail(owing: memory.isNews || memory.answer != nil, jitter: jitter, at: now)
        step = .idle
        return told + proceed(at: now)
    }

    private mutating func refuseWish(_ message: String) -> [FleetAction] {
        guard let wish else { return [] }
        self.wish = nil
        return [.refuse(wish.attempt, StorageFailure(message: message))]
    }

    /// etcd has been read.
    package mutating func looked(_ view: FleetSnapshot, at now: Instant) -> [FleetAction] {
        guard case .looking(let known, let since) = step else { return [] }
        lookout.see(view.place)
        // Not what is known now: the watch may have overtaken the answer.
        let isBack = known.map { view.place.cluster == $0.cluster && view.place.contradicts($0) } ?? false
        guard isBack, !memory.isRestored else { return decide(on: view, viewedSince: since, at: now) }
        memory.place = view.place
        return keep(memory.restored, at: now)
    }

    /// `viewedSince`: when the look began; `nil`: it was none, and the watch has shown `view`.
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
            wish?.takeTurn(within: look.longestTurn, at: now)
            if let turn = wish?.turn, now < turn { return rest(until: turn, at: now) }
            guard let viewedSince else { return self.look(at: now) }
            step = .leasing(look, viewedSince: viewedSince, since: now)
            return [.grantLease(timing.lease(afterDelays: delays))]
        case .wait: return wait(look, at: now)
        case .postpone(let time): return postpone(time, look, at: now)
        case .notLive:
            guard let record = memory.record else {
                return refuseWish("the fleet has no login of this session") + rest(at: now)
            }
            wish = nil
            return [.adopt(record)] + rest(at: now)
        case .rest: return forwardReaderRequest(look.view) + rest(at: now)
        }
    }

    private mutating func wait(_ look: FleetDecision, at now: Instant) -> [FleetAction] {
        guard let wish else { return rest(at: now) }
        self.wish?.hold()
        return look.told(to: wish) + rest(until: now + look.nextLook, at: now)
    }

    /// All hosts that wait for one moment come within the pause that follows it.
    private mutating func postpone(_ time: FleetTime, _ look: FleetDecision, at now: Instant) -> [FleetAction]
    {
        guard let wish else { return rest(at: now) }
        self.wish = nil
        let until = now + (time - look.view.time) + timing.longestTurn * wish.attempt.share
        return look.asked + [.postpone(wish.attempt, until: until)] + rest(at: now)
    }

    /// A reader's wish is passed on once for each record.
    private mutating func forwardReaderRequest(_ view: FleetSnapshot) -> [FleetAction] {
        guard role == .keeper, let record = view.recordAsked, asked != record else { return [] }
        asked = record
        return [.asked]
    }

    /// Comes to rest, until `time` at most.
    private mutating func rest(until time: Instant? = nil, at now: Instant) -> [FleetAction] {
        step = .idle
        lookout.rest(until: time)
        return proceed(at: now)
    }

    /// Goes on with what has come up meanwhile.
    private mutating func proceed(at now: Instant) -> [FleetAction] {
        guard news == nil else { return keep(memory, at: now) }
        return lookout.isNeeded ? look(at: now) : []
    }

    // MARK: Reserving

    /// etcd has granted a lease.
    ///
    /// - Parameters:
    ///   - lifetime: of the lease; etcd may make it longer than was asked.
    ///   - place: of the answer.
    ///   - now: now.
    /// - Returns: what to do.
    package mutating func leaseGranted(
        _ lifetime: Duration,
        _ place: FleetRevision,
        at now: Instant
    ) -> [FleetAction] {
        guard case .leasing(let seen, let viewed, let since) = step else { return [] }
        let view = seen.view
        guard let wish, let record = view.record, !place.contradicts(view.place) else { return look(at: now) }
        let leaseEnds = since + lifetime
        let hold = RefreshClaim(
            for: wish.attempt,
            record,
            seen,
            viewed: viewed,
            leaseEnds: leaseEnds,
            at: now
        )
        self.hold = hold
        return transact(.reserve(hold, over: view.intent))
    }

    /// The reservation stands in etcd: it counts if it came in time and from the etcd that was looked at.
    private mutating func granted(_ place: FleetRevision, at now: Instant) -> [FleetAction] {
        guard let hold else { return look(at: now) }
        noteDelay(of: hold, at: now)
        guard let wish, wish.attempt == hold.intent.attempt, news == nil, hold.counts(place, at: now) else {
            return end(.untouched, at: now)
        }
        self.hold?.stage = .granted
        self.wish = nil
        memory.sending = hold.sending
        step = .exchanging
        return [.grant(hold.intent.attempt, hold.record, until: hold.deadline)]
    }

    /// The next lease is longer if this one leaves no time to send.
    private mutating func noteDelay(of hold: RefreshClaim, at now: Instant) {
        if now >= hold.deadline { delays += 1 }
    }

    /// When the request that may be sent now may be in flight; `nil`: none may be sent.
    package var fence: ExchangeDeadlines? {
        step == .exchanging || step == .recovering ? hold?.fence : nil
    }

    /// Has the session look for the answer to what was sent before this process started.
    private mutating func recover(_ sending: PendingSend) -> [FleetAction] {
        hold = RefreshClaim(recovering: sending)
        step = .recovering
        return [.recover(sending.intent.attempt)]
    }

    /// Ends the right to send.
    private mutating func end(_ stage: RefreshClaim.Stage, at now: Instant) -> [FleetAction] {
        hold?.stage = stage
        let isTooLate = wish?.attempt == hold?.intent.attempt
        let told = isTooLate ? refuseWish("etcd answered too late") : []
        guard let errand = hold?.ending else { return told + look(at: now) }
        return told + transact(errand)
    }

    /// The exchange that was granted has ended.
    ///
    /// - Parameters:
    ///   - answer: what came of it; `untouched` if the alarm came before the request was sent, or if an answer that may
    ///     lie here could not be looked for; `unanswered` if none lies here.
    ///   - jitter: in `0..<1`.
    ///   - now: now.
    /// - Returns: what to do; `postpone` if a refusal has to be confirmed.
    package mutating func answered(
        _ answer: FleetRefreshOutcome,
        jitter: Double,
        at now: Instant
    ) -> [FleetAction] {
        guard step == .exchanging || step == .recovering, let hold else { return [] }
        let isRecovered = step == .recovering
        guard answer != .untouched || !isRecovered else { return scheduleRead(at: now) }
        if answer == .untouched { noteDelay(of: hold, at: now) } else { delays = max(delays - 1, 0) }
        memory.sending = nil
        switch answer {
        case .tokens(let tokenMark):
            self.hold = nil
            var next = memory
            next.answer = hold.answer(tokenMark)
            return keep(next, at: now)
        case .untouched: return end(.untouched, at: now)
        // The request may still be under way: its lock stays for as long as its lease, as if the host were gone.
        case .unanswered where isRecovered:
            self.hold = nil
            return look(at: now)
        case .unanswered: return end(.unanswered, at: now)
        case .refused(let reason, let confirmations):
            let refusals = FleetRefusals(of: hold, after: refusals)
            self.refusals = refusals
            guard refusals.attempts.count > confirmations else {
                let until = now + RetrySchedule.confirmationDelay(jitter: jitter)
                return [.postpone(hold.intent.attempt, until: until)] + end(.doubted, at: now)
            }
            return end(.refused(refusals.believed(reason, after: hold.intent)), at: now)
        }
    }

    /// The session could not look for the answer: it is tried again, unless a person has made it needless.
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

    /// The transaction may have been carried out: the next look shows it.
    package mutating func transactionUnanswered(at now: Instant) -> [FleetAction] {
        guard case .transacting = step else { return [] }
        return look(at: now)
    }

    /// etcd has answered a transaction.
    ///
    /// - Parameters:
    ///   - isDone: all conditions held; else nothing was changed.
    ///   - place: of the answer.
    ///   - now: now.
    /// - Returns: what to do.
    package mutating func transacted(_ isDone: Bool, _ place: FleetRevision, at now: Instant) -> [FleetAction]
    {
        guard case .transacting(let errand) = step else { return [] }
        // Its reads do not show what its transactions find: the same would be decided again at once.
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

    /// Makes `next` durable, with what a person has done meanwhile.
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

    /// What was asked for is durable, or as safe as it could be made.
    package mutating func kept(at now: Instant) -> [FleetAction] {
        guard case .keeping(let next, let telling, let view) = step else { return [] }
        let isNewAnswer = memory.answer?.attempt != next.answer?.attempt
        let told = telling + settlePendingRefresh(next, telling)
        memory = next
        if outsealed != next.record { outsealed = nil }
        // Nobody has to look for an answer that has just come, nor at what the watch has shown.
        if isNewAnswer, let answer = next.answer, !next.isNews, news == nil {
            return told + transact(.commit(answer.header, answer))
        }
        guard let view, !next.isNews, news == nil, !lookout.isNeeded else { return told + look(at: now) }
        return told + decide(on: view, viewedSince: nil, at: now)
    }

    /// What the session wanted of tokens that it has no more, it asks anew if it has to, also if it has asked since the
    /// record was on its way to the disk.
    private mutating func settlePendingRefresh(
        _ next: FleetPersistentState,
        _ telling: [FleetAction]
    ) -> [FleetAction] {
        if telling.contains(where: \.isAdoption) { wish = nil }
        // The tokens of this host's own answer it has had since they came.
        let isOwn = next.record?.attempt == memory.answer?.attempt
        let isOther = next.record != memory.record && !isOwn || next.isNews != memory.isNews
        return isOther ? refuseWish("the login has changed") : []
    }
}
