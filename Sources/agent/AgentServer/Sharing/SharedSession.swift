// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// One shared session at this host, which executes the decisions of its ``FleetMember``.
///
/// Confined to the agent's event loop.
final class SharedSession {
    let name: SessionName
    private(set) var member: FleetMember
    let record: LocalSharedRecord
    private(set) var attempt: SharedAttempt?
    private var writes = RecordDiskWrites()
    /// The revocations that wait until etcd has the login or logout that caused them.
    private(set) var deferred = DeferredRevocations()
    /// The latest error, or `nil` if the latest operation succeeded.
    private(set) var storeError: FleetStoreError?
    private var lease: FleetLease?
    private var sealReview = ResealDecision()
    /// The previous login, which a login on this host replaces in etcd and which must be revoked afterwards,
    /// or `nil` if there is none.
    private var replaced: SessionSnapshot?
    /// Whether this host does not share the session any more.
    ///
    /// Results of requests in flight are then ignored.
    private(set) var hasEnded = false
    private let wishes: ReaderRefreshRequests
    let sharing: any FleetSharing
    private let host: UInt64
    private unowned let fleet: FleetCoordinator
    private let parts: FleetParts
    /// The time limits that decide when this host may send a refresh token to the authorization server.
    private let timing: FleetTiming

    init(
        _ name: SessionName,
        _ keeping: SessionFleetState?,
        _ binding: FleetLoginSettings,
        timing: FleetTiming,
        sharing: any FleetSharing,
        host: UInt64,
        fleet: FleetCoordinator
    ) {
        self.name = name
        self.sharing = sharing
        self.fleet = fleet
        parts = fleet.parts
        wishes = ReaderRefreshRequests(sharing: sharing, fleet: fleet)
        self.host = host
        self.timing = timing
        member = FleetMember(keeping?.memory ?? FleetPersistentState(), timing: timing, role: sharing.role)
        record = LocalSharedRecord(name, keeping, binding, sharing: sharing, parts: parts)
    }

    /// The fleet state that is stored with the session's record on disk.
    var keeping: SessionFleetState { record.keeping(member.memory) }

    /// Whether the record is being written to this host's disk.
    var isKeeping: Bool { writes.isUnderWay }

    /// Whether a request may be in flight, its response is being written to disk, or a login or logout waits
    /// for that.
    var isExchanging: Bool { attempt?.fence != nil || isKeeping || hasNews && !member.memory.isUnpublished }

    /// Whether this host has a login or logout that etcd does not have yet.
    var hasNews: Bool { member.memory.isUnpublished || record.news != nil }

    /// Whether a login or logout on this host is being published, and its requester waits for the result.
    var isPublishing: Bool { record.news != nil || member.memory.isUnpublished && storeError == nil }

    /// Whether etcd's state is unknown: nothing was read yet, or the latest request failed.
    var isBlind: Bool { record.readResult == nil || storeError != nil }

    /// Whether this host does not know yet if the session is logged in.
    var isUnseen: Bool { !member.memory.knowsLogin && (record.readResult == nil || !member.isAtRest) }

    /// The session itself, or `nil` if it has left the configuration.
    var session: Session? { parts.registry[name]?.session }

    var now: Instant { parts.timekeeper.now }

    /// Returns a random number in `0..<1`.
    func chance() -> Double { parts.chance() }

    /// A new attempt ID, never used before.
    var freshAttempt: AttemptID { AttemptID(host: host, random: .random(in: 1 ... .max)) }

    // MARK: Events

    /// Passes an event to the session's ``FleetMember``, and executes the actions that it returns.
    func apply(_ event: (inout FleetMember, Instant) -> [FleetAction]) {
        guard !hasEnded else { return }
        let isKept = parts.registry[name]?.session.keepsRefreshToken ?? false
        member.serverFound(isKept ? timing.whereTokensAreKept : timing)
        let actions = event(&member, parts.timekeeper.now)
        for action in actions { perform(action) }
        fleet.changed(self)
        if !isUnseen || storeError != nil { fleet.observer?.sharedRecordRead(of: name) }
    }

    /// Asks the fleet for permission to send the session's refresh token.
    func reserve(_ number: AttemptNumber) {
        let id = freshAttempt
        attempt = SharedAttempt(id: id, number: number)
        let expiry = expiry()
        apply { member, now in member.refreshWanted(as: id, expiry: expiry, at: now) }
    }

    /// Returns the expiry of the session's access token, or `nil` if it never expires or is not served.
    func expiry() -> Instant? {
        guard let token = parts.registry[name]?.session.primaryToken, !token.isRefused else { return nil }
        return token.expiresAt
    }

    /// Withdraws the request for an attempt that the session does not make any more, or that has ended.
    func withdraw(_ number: AttemptNumber) {
        guard let attempt, attempt.number == number, !attempt.hasTokens, attempt.refusal == nil else {
            return
        }
        self.attempt = nil
        guard attempt.fence != nil else { return member.refreshWithdrawn() }
        apply { member, now in member.answered(.untouched, jitter: parts.chance(), at: now) }
    }

    /// Handles the outcome of an attempt's request.
    ///
    /// - Returns: The recipient of the outcome.
    func answered(_ outcome: RefreshOutcome) -> RefreshOutcomeRecipient {
        guard let attempt, let fence = attempt.fence else { return .session }
        guard case .failed(let failure) = outcome else {
            self.attempt?.hasTokens = true
            return .session
        }
        let session = parts.registry[name]?.session
        let answer = FleetRefreshOutcome(
            failure,
            status: failure.status,
            isFirstUse: session?.isFirstUse ?? false,
            hasRefreshed: session?.hasRefreshed ?? false,
            hasToken: expiry().map { $0 > parts.timekeeper.now } ?? false
        )
        let jitter = parts.chance()
        let isRefusal = if case .refused = answer { true } else { false }
        if isRefusal {
            self.attempt?.refusal = failure
            // After a crash, one rejection must not be found again and counted as a second one.
            parts.storeThread.run { [name] in $0.release(name, answered: true) }
        } else {
            self.attempt = nil
        }
        apply { member, now in member.answered(answer, jitter: jitter, at: now) }
        guard fence == .recorded, answer == .unanswered else { return isRefusal ? .fleet : .session }
        parts.registry.apply(name) { session, moment in
            session.attemptPostponed(attempt.number, until: moment.now, because: failure, at: moment)
        }
        return .nobody
    }

    /// Handles tokens that the session could not use, because a logout or another login came before them.
    ///
    /// The tokens are revoked once that logout or login is in etcd.
    func tokensLost(_ outcome: RefreshOutcome) {
        guard let attempt, attempt.hasTokens, record.answer == nil, !isKeeping else { return }
        self.attempt = nil
        if let session = parts.registry[name]?.session {
            parts.registry.follow(session.endUnused(outcome), of: name, at: parts.timekeeper.moment)
        }
        apply { member, now in
            member.answered(.unanswered, jitter: parts.chance(), at: now)
        }
    }

    // MARK: Records of the session

    /// Defers `effect`, if it is a revocation, until the login or logout that caused it is published.
    ///
    /// - Returns: `true` if `effect` was deferred.
    func defersRevocation(_ effect: Effect) -> Bool { deferred.hold(effect, while: hasNews) }

    /// Ends sharing, and erases tokens that only the deferred revocations still needed.
    func leaveFleet() {
        end()
        parts.erasure.erase(deferred.releaseAll())
        letGoOfReplaced()
    }

    /// Records that this host does not share the session any more.
    ///
    /// Results still in flight change neither the session, its record nor its status.
    func end() { hasEnded = true }

    // MARK: Actions

    private func perform(_ action: FleetAction) {
        switch action {
        case .look: look()
        case .grantLease(let lifetime): grantLease(lifetime)
        case .transact(let transaction): transact(transaction)
        case .keep(let memory): keep(memory)
        case .grant(let id, _, _), .recover(let id):
            if let fence = member.fence { grant(id, fence) }
        case .hold: if let number = attempt?.number { fleet.refreshes?.held(number, for: name) }
        case .postpone(_, let time): postpone(time)
        case .refuse(_, let failure): refuse(failure)
        case .adopt(let header): adopt(header)
        case .ask(let generation): wishes.tell(generation, of: self)
        case .asked: wishes.follow(in: self)
        case .revoke(let attempt): revoke(attempt)
        case .finishNews(let news, let result): finishNews(news, result)
        }
    }

    // MARK: etcd

    /// Handles the session's keys as the watch has read them.
    func show(_ readResult: FleetReadResult) {
        guard !hasEnded else { return }
        do throws(FleetStoreError) {
            try see(readResult)
            apply { member, now in member.shown(readResult.view, at: now) }
            repairRecord(readResult)
        } catch {
            note(error)
            apply { member, now in member.changed(at: now) }
        }
    }

    private func see(_ readResult: FleetReadResult) throws(FleetStoreError) {
        try record.look(readResult)
        storeError = nil
        // The session's tokens are not served any more, and those of the request in flight must be revoked.
        // The member adopts the logout after them.
        if attempt?.fence != nil, readResult.view.isOver(member.memory.record) {
            parts.registry.apply(name) { session, moment in session.loggedOutElsewhere(at: moment) }
        }
        // The event that deleted the record may have deleted this host's entry in the list too.
        if readResult.view.record == nil, member.memory.record != nil {
            fleet.announcements.announce()
        }
    }

    private func look() {
        let (sharing, name, epoch) = (sharing, name, record.epoch)
        fleet.call { () async throws(FleetStoreError) in
            try await sharing.look(at: name, since: epoch)
        } then: { [self] result in
            guard !hasEnded else { return }
            do throws(FleetStoreError) {
                let readResult = try result.get()
                try see(readResult)
                apply { member, now in member.looked(readResult.view, at: now) }
                repairRecord(readResult)
            } catch {
                note(error)
                apply { member, now in member.callFailed(jitter: parts.chance(), at: now) }
                waitNoLonger()
            }
        }
    }

    /// Reports the pending login or logout as finished, although it is not in etcd yet.
    ///
    /// It is durable on this host's disk, and the other hosts get it later.
    private func waitNoLonger() {
        guard member.memory.isUnpublished, let news = member.memory.record else { return }
        finish(record.settleNews(news), .durable)
        fleet.changed(self)
        guard !deferred.isEmpty, let storeError else { return }
        fleet.observer?.logoutDelayed(storeError, of: name)
    }

    /// Adopts tokens that this host could not open before, and reseals a record that others cannot open.
    private func repairRecord(_ readResult: FleetReadResult) {
        if let found = readResult.view.record, found == member.memory.record, record.canTake(found) {
            apply { member, now in member.tokensMissed(at: now) }
        }
        if sealReview.isOwed(in: readResult, knowing: member.memory.record, epoch: sharing.epoch) {
            apply { member, now in member.resealWanted(at: now) }
        }
    }

    private func grantLease(_ lifetime: Duration) {
        let sharing = sharing
        fleet.call { () async throws(FleetStoreError) in
            try await sharing.grantLease(lifetime)
        } then: { [self] result in
            guard !hasEnded else { return }
            switch result {
            case .success(let lease):
                self.lease = lease
                apply { member, now in member.leaseGranted(lease.lifetime, lease.place, at: now) }
            case .failure(let failure):
                note(failure)
                apply { member, now in member.callFailed(jitter: parts.chance(), at: now) }
            }
        }
    }

    private func transact(_ transaction: FleetTransaction) {
        let sealed: SealedFleetTransaction
        do throws(FleetStoreError) {
            sealed = try record.seal(transaction, lease: lease)
        } catch {
            // The watch has read a newer state since the decision.
            guard error.kind != .unknownValue else {
                return apply { member, now in member.transactionUnanswered(at: now) }
            }
            note(error)
            waitNoLonger()
            // The delay prevents a loop, as the member would decide the same again at once.
            fleet.later { [self] in
                apply { member, now in member.transactionUnanswered(at: now) }
            }
            return
        }
        recordReplaced(by: transaction)
        let sharing = sharing
        fleet.call { () async throws(FleetStoreError) in
            try await sharing.transact(sealed)
        } then: { [self] result in
            guard !hasEnded else { return }
            switch result {
            case .success(let outcome):
                if outcome.isDone { record.note(sealed) }
                apply { member, now in member.transacted(outcome.isDone, outcome.place, at: now) }
            case .failure(let failure):
                note(failure)
                guard failure.kind != .unanswered else {
                    return apply { member, now in member.transactionUnanswered(at: now) }
                }
                apply { member, now in member.callFailed(jitter: parts.chance(), at: now) }
                waitNoLonger()
            }
        }
    }

    func note(_ storeError: FleetStoreError) {
        guard self.storeError != storeError else { return }
        self.storeError = storeError
        parts.log.write(.warning, "fleet", name, ["error": "\(storeError.sentence)"])
    }

    // MARK: The session

    /// Permits the session to send its request before the deadlines, as the attempt `id`.
    private func grant(_ id: AttemptID, _ fence: RefreshRequestDeadlines) {
        guard let number = attempt?.number else { return }
        attempt?.id = id
        attempt?.fence = fence
        fleet.granted(number, of: name)
    }

    private func keep(_ memory: FleetPersistentState) {
        writes.begin()
        record.write(memory) { [self] outcome in
            let waiting = writes.end()
            // The tokens are served as soon as they are durable here.
            if let answer = record.settleAnswer() {
                attempt = nil
                fleet.removed.recordAuthor(by: host, of: name)
                finish(answer, outcome)
            }
            apply { member, now in member.kept(at: now) }
            if let unadopted = sealReview.unadopted { repairRecord(unadopted) }
            for commit in waiting {
                parts.registry.apply(name) { session, moment in
                    session.commitFinished(commit, outcome, at: moment)
                }
            }
            if !hasEnded, writes.mustEraseTokens { requestTokenErasure() }
        }
    }

    /// Erases the session's tokens from its record on disk, but keeps this host's fleet state.
    ///
    /// The session has nothing more to send to any server.
    func requestTokenErasure() {
        if writes.requestTokenErasure() { record.writeBlank(member.memory) }
    }

    /// Reports the outcome of a commit to the session.
    ///
    /// Without an outcome, another login or logout has replaced it.
    func finish(_ pending: LocalSharedRecord.UnsavedChange?, _ outcome: CommitDurability?) {
        guard let pending, let commit = pending.commit else { return }
        if pending.ended != nil, outcome == nil { fleet.observer?.logoutOvertaken(of: name) }
        parts.registry.apply(name) { session, moment in
            guard let outcome else { return session.loginSuperseded(commit) }
            return session.commitFinished(commit, outcome, at: moment)
        }
    }

    /// Defers a commit of the session that does not concern the fleet, until the active write of the record
    /// has ended.
    func wait(_ commit: CommitNumber) { writes.wait(commit) }

    private func adopt(_ header: FleetHeader) {
        let ended = attempt
        attempt = nil
        defer { if let ended { fleet.refreshes?.supersededByFleet(ended.number, for: name) } }
        // The session was logged out here while the record was written, so the record does not restore it.
        guard !record.isEnding(header) else { return }
        let isKnown = fleet.removed.know(header, of: self, instead: ended)
        let snapshot = record.take(header)
        let jitter = parts.chance()
        parts.registry.apply(name) { session, moment in
            session.recordAdopted(
                snapshot,
                isUnproven: header.status == .rescued,
                // Only the host whose refresh token was rejected may log in without the user.
                mayLogInNoninteractively: ended?.refusal != nil,
                jitter: jitter,
                at: moment
            )
        }
        guard isKnown else { return }
        parts.work.later { [self] in
            guard !hasEnded else { return }
            parts.registry.apply(name) { session, moment in session.refreshAsked(at: moment) }
        }
    }

    private func postpone(_ time: Instant) {
        guard let ended = attempt else { return }
        attempt = nil
        guard let refusal = ended.refusal else {
            let reason = record.readResult?.view.reasonToWait(at: host) ?? "etcd has not been read yet"
            let answer = ReservationResult.notBefore(time, reason)
            fleet.refreshes?.refused(ended.number, answer, for: name)
            return
        }
        parts.registry.apply(name) { session, moment in
            session.attemptPostponed(ended.number, until: time, because: refusal, at: moment)
        }
        fleet.refreshes?.supersededByFleet(ended.number, for: name)
    }

    private func refuse(_ failure: StorageFailure) {
        guard let ended = attempt else { return }
        attempt = nil
        let storeError = storeError ?? FleetStoreError(.unavailable, failure.message)
        fleet.refreshes?.refused(ended.number, .unreachable(storeError), for: name)
    }

    // MARK: Revocations

    /// Returns whether revoking a token at this server ends only the login of that token, not the user's
    /// other logins.
    private func revokesSingly() -> Bool {
        parts.registry[name]?.settings.policy.revokes == .token
    }

    /// Revokes tokens that the fleet does not need, unless that could end the login that replaced theirs.
    private func revoke(_ attempt: AttemptID) {
        guard let found = try? record.find(attempt), found.isLent else { return }
        guard member.memory.record?.isLive != true || revokesSingly() else {
            return parts.erasure.erase(found.snapshot.secrets)
        }
        parts.late.end(found.snapshot, of: name)
    }

    /// Copies the tokens of the login that `transaction` replaces in etcd, so that they can be revoked
    /// afterwards.
    ///
    /// They are in etcd only until the transaction is carried out.
    private func recordReplaced(by transaction: FleetTransaction) {
        guard member.memory.isUnpublished, let old = transaction.replacedLogin, revokesSingly()
        else {
            return
        }
        letGoOfReplaced()
        replaced = record.copy(of: old.attempt)
    }

    private func letGoOfReplaced() {
        if let replaced { parts.erasure.erase(replaced.secrets) }
        replaced = nil
    }

    private func finishNews(_ news: FleetHeader, _ result: FleetPublishResult) {
        if let snapshot = replaced, case .done = result {
            parts.late.end(snapshot, of: name)
            replaced = nil
        }
        letGoOfReplaced()
        finish(record.settleNews(news), result.outcome)
        // The deferred revocations may also depend on a later login or logout.
        guard !hasNews else { return }
        parts.registry.follow(deferred.release(), of: name, at: parts.timekeeper.moment)
    }
}

extension FleetPublishResult {
    /// The outcome of the commit, or `nil` if another login or logout has replaced it.
    fileprivate var outcome: CommitDurability? {
        if case .done = self { .durable } else { nil }
    }
}
