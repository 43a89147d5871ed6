// SPDX-License-Identifier: MIT

import TokenCore

/// What this host has of one session of the fleet: its record, and where the tokens of each attempt are.
///
/// The session itself has those of one attempt. Of others a sealed copy lies in its record until the fleet needs it no
/// more, and what etcd shows can be opened. Confined to the agent's event loop.
final class SharedRecord {
    /// Tokens that the session does not have yet, or a logout.
    struct Pending {
        /// Who brought them; `nil`: it is a logout.
        var attempt: AttemptID?
        /// The login that a logout ends; `nil`: it is none.
        var ended: Lineage?
        /// How the session hears of its end; `nil`: it asked for nothing.
        var commit: CommitNumber?
        var snapshot: SessionSnapshot
    }

    let name: SessionName
    private let sharing: any FleetSharing
    /// Of which client and server its tokens are.
    private let binding: FleetBinding
    /// Whose tokens the session has, or will have once they are durable; `nil`: it has none.
    private var own: AttemptID?
    /// Tokens of other attempts, sealed.
    private var others: [AttemptID: [UInt8]]
    /// What the latest write has taken away, sealed: some of it is to be revoked.
    private var leaving: [AttemptID: [UInt8]] = [:]
    /// The highest epoch of the fleet's keys seen.
    private(set) var epoch: UInt32
    /// The latest look.
    private(set) var sight: FleetReadResult?
    /// The tokens of its record, where this host had none of them.
    private var opened: (attempt: AttemptID, snapshot: SessionSnapshot)?
    /// The tokens of this host's own answer, on their way into the record.
    private(set) var answer: Pending?
    /// A login or a logout of this host, on its way into the record, perhaps behind an answer.
    private(set) var news: Pending?
    /// What the session is to take over once it is told to.
    private var coming: SessionSnapshot?

    init(_ name: SessionName, _ keeping: FleetKeeping?, _ binding: FleetBinding, sharing: any FleetSharing) {
        self.name = name
        self.binding = binding
        self.sharing = sharing
        own = keeping?.attempt
        others = keeping?.others ?? [:]
        epoch = keeping?.epoch ?? 0
    }

    /// What the record on disk has beside the session.
    func keeping(_ memory: FleetPersistentState) -> FleetKeeping {
        FleetKeeping(memory: memory, attempt: own, others: others, epoch: epoch, binding: binding)
    }

    /// Notes an answer whose tokens are to become the session's.
    func await(answer: Pending) { self.answer = answer }

    /// Notes a login or a logout that is to become the session's.
    ///
    /// - Returns: what it takes the place of, and what nobody will finish.
    func await(news: Pending) -> Pending? {
        defer { self.news = news }
        return self.news
    }

    /// The answer is the session's now, or of no use.
    func settleAnswer() -> Pending? {
        defer { answer = nil }
        return answer
    }

    /// The login or logout that `header` tells of is the session's now, or of no use; `nil`: it has been settled before.
    func settleNews(_ header: FleetHeader) -> Pending? {
        guard let found = news, found.attempt == (header.status == .out ? nil : header.attempt) else {
            return nil
        }
        news = nil
        return found
    }

    /// Whether a logout of this host is on its way that ends the login of `header`.
    func isEnding(_ header: FleetHeader) -> Bool {
        guard let news, header.status != .out else { return false }
        return news.ended == header.lineage
    }

    /// The tokens of `attempt`, if they are on their way into the record.
    private func pending(_ attempt: AttemptID) -> SessionSnapshot? {
        [answer, news].lazy.compactMap(\.self).first { $0.attempt == attempt }?.snapshot
    }

    /// Whether the session itself brings what it is to have, and so has nothing to take over.
    private func brings(_ attempt: AttemptID?) -> Bool {
        if let attempt { pending(attempt) != nil } else { news.map { $0.attempt == nil } ?? false }
    }

    // MARK: Looks

    /// Takes over a look, whose record this host must be able to open.
    ///
    /// - Throws: ``FleetStoreError``: the record counts as not seen.
    func look(_ sight: FleetReadResult, in agent: isolated SessionAgent) throws(FleetStoreError) {
        guard sight.view.record == nil || sight.epoch >= epoch else {
            throw FleetStoreError(
                .unreadable,
                "the record of \(name) in etcd is sealed under a key that was replaced",
                remedy: FleetStoreError.repair(name),
                isMistake: true
            )
        }
        letGoOfOpened(in: agent)
        if let record = sight.view.record, record.status != .out, record.attempt != own,
            pending(record.attempt) == nil, others[record.attempt] == nil,
            let snapshot = try sharing.open(record.attempt, in: sight, as: binding)
        {
            opened = (record.attempt, snapshot)
        }
        self.sight = sight
        epoch = max(epoch, sight.epoch)
    }

    /// A transaction of this host was carried out.
    func note(_ transaction: SealedFleetTransaction) {
        sight?.note(transaction)
    }

    /// Erases what was opened and is not the session's.
    func letGoOfOpened(in agent: isolated SessionAgent) {
        guard let snapshot = opened?.snapshot else { return }
        opened = nil
        agent.erasure.erase(snapshot.secrets)
    }

    /// Whether what was opened are the tokens of this record, which the session does not have.
    func canTake(_ record: FleetHeader) -> Bool {
        own != record.attempt && opened?.attempt == record.attempt
    }

    // MARK: Tokens

    /// The tokens of an attempt, and whether they were opened for whoever asks, who erases them.
    struct Found {
        var snapshot: SessionSnapshot
        var isLent: Bool
    }

    /// The tokens of `attempt`; `nil`: they are not here.
    func find(_ attempt: AttemptID, in agent: isolated SessionAgent) throws(FleetStoreError) -> Found? {
        if let pending = pending(attempt) { return Found(snapshot: pending, isLent: false) }
        if own == attempt, let present = present(in: agent) { return Found(snapshot: present, isLent: false) }
        if let opened, opened.attempt == attempt { return Found(snapshot: opened.snapshot, isLent: false) }
        if let bytes = others[attempt] ?? leaving[attempt] {
            return Found(snapshot: try sharing.open(kept: bytes, of: attempt, name), isLent: true)
        }
        guard let sight, let snapshot = try sharing.open(attempt, in: sight, as: binding) else { return nil }
        return Found(snapshot: snapshot, isLent: true)
    }

    /// A copy of the tokens of `attempt`, as the latest look shows them, which the caller erases; `nil`: it shows none.
    func copy(of attempt: AttemptID) -> SessionSnapshot? {
        guard let sight else { return nil }
        return try? sharing.open(attempt, in: sight, as: binding)
    }

    /// Writes a transaction down with the tokens that it wants.
    func seal(
        _ transaction: FleetTransaction,
        lease: FleetLease?,
        in agent: isolated SessionAgent
    ) throws(FleetStoreError) -> SealedFleetTransaction {
        guard let sight else { throw FleetStoreError(.unknownValue, "nothing was read") }
        var snapshots: [AttemptID: SessionSnapshot] = [:]
        var lent: Set<SecretID> = []
        defer { agent.erasure.erase(lent) }
        for attempt in transaction.attempts {
            guard let found = try find(attempt, in: agent) else {
                throw FleetStoreError(.unreadable, "tokens of \(name) that the fleet wants are not here")
            }
            if found.isLent { lent.formUnion(found.snapshot.secrets) }
            snapshots[attempt] = found.snapshot
        }
        return try sharing.seal(
            transaction,
            of: name,
            as: binding,
            seen: sight,
            contents: snapshots,
            lease: lease
        )
    }

    /// A login without a refresh token, which ends with its access token, has the mark 0.
    func mark(of snapshot: SessionSnapshot) -> UInt64 {
        guard case .refreshToken(let secret) = snapshot.renewal else { return 0 }
        return (try? sharing.mark(of: secret)) ?? 0
    }

    private func present(in agent: isolated SessionAgent) -> SessionSnapshot? {
        coming ?? agent.sessions[name]?.session.snapshot(at: agent.moment)
    }

    // MARK: Writing

    /// Has everything that `memory` names made durable in one step.
    func write(
        _ memory: FleetPersistentState,
        in agent: isolated SessionAgent,
        then: @escaping (CommitOutcome) -> Void
    ) {
        let attempt = memory.attemptInUse
        let others = copies(of: memory.attempts.subtracting([attempt].compactMap(\.self)), in: agent)
        leaving = self.others.filter { others[$0.key] == nil }
        if let own, own != attempt, others[own] == nil, let present = present(in: agent) {
            leaving[own] = try? sharing.keep(present, of: own, name, as: binding)
        }
        let found = next(attempt, in: agent)
        var snapshot = found?.snapshot ?? SessionSnapshot(loggedOutAt: agent.moment)
        let isComing = attempt != own && !brings(attempt)
        if attempt != own {
            letGoOfComing(in: agent)
            coming = isComing ? snapshot : nil
        }
        if let attempt, opened?.attempt == attempt { opened = nil }
        // What is not here is nothing of the session's, or it would pass for whatever that has.
        own = found == nil ? nil : attempt
        self.others = others
        snapshot.standing = memory.standing ?? snapshot.standing
        if coming != nil { coming?.standing = snapshot.standing }
        snapshot.fleet = keeping(memory)
        let name = name
        agent.storeThread.run { [snapshot] in
            $0.commit(name, snapshot)
        } then: {
            if let found, found.isLent, !isComing { agent.erasure.erase(found.snapshot.secrets) }
            then($0)
        }
    }

    /// Erases what the session was to take over, and does not: a logout came before.
    private func letGoOfComing(in agent: isolated SessionAgent) {
        guard let snapshot = coming else { return }
        let held = agent.sessions[name]?.session.snapshot(at: agent.moment)?.secrets ?? []
        agent.erasure.erase(snapshot.secrets.subtracting(held))
    }

    /// Makes durable that the session has no tokens any more, with what this host knows of the fleet.
    func writeBlank(_ memory: FleetPersistentState, in agent: isolated SessionAgent) {
        var snapshot = SessionSnapshot(loggedOutAt: agent.moment)
        snapshot.fleet = keeping(memory)
        agent.storeThread.run { [name, snapshot] in _ = $0.commit(name, snapshot) }
    }

    /// What the session is once it has the tokens of `attempt`; `nil`: they are not here.
    private func next(_ attempt: AttemptID?, in agent: isolated SessionAgent) -> Found? {
        // A record that does not open was not taken for one: see look(_:in:).
        if let attempt { return try? find(attempt, in: agent) }
        if let news, news.attempt == nil {
            return Found(snapshot: news.snapshot, isLent: false)
        } else if let present = agent.sessions[name]?.session.snapshot(at: agent.moment), present.isLoggedOut
        {
            return Found(snapshot: present, isLent: false)
        }
        return Found(snapshot: SessionSnapshot(loggedOutAt: agent.moment), isLent: false)
    }

    /// Sealed copies of tokens that the session does not have itself.
    private func copies(of attempts: Set<AttemptID>, in agent: isolated SessionAgent) -> [AttemptID: [UInt8]]
    {
        var copies: [AttemptID: [UInt8]] = [:]
        for attempt in attempts {
            if let copy = others[attempt] {
                copies[attempt] = copy
            } else if let found = try? find(attempt, in: agent) {
                copies[attempt] = try? sharing.keep(found.snapshot, of: attempt, name, as: binding)
                if found.isLent { agent.erasure.erase(found.snapshot.secrets) }
            }
        }
        return copies
    }

    /// What the session takes over now: other tokens, or its own with what has become of them.
    func take(_ header: FleetHeader, in agent: isolated SessionAgent) -> SessionSnapshot {
        defer { coming = nil }
        let found = coming ?? next(header.status == .out ? nil : own, in: agent)?.snapshot
        var snapshot = found ?? SessionSnapshot(loggedOutAt: agent.moment)
        snapshot.standing = header.standing
        snapshot.fleet = nil
        return snapshot
    }
}

extension SessionSnapshot {
    /// What is left of a login at a host that has none of its tokens.
    init(loggedOutAt moment: Moment) {
        self.init(
            standing: .ended(.loggedOut, quarantinedUntil: nil),
            renewal: .impossible,
            tokens: [:],
            loggedInAt: moment.wallTime,
            tokenEndpoint: ""
        )
    }

    fileprivate var isLoggedOut: Bool {
        if case .ended(.loggedOut, _) = standing { true } else { false }
    }
}

extension FleetHeader {
    /// What it says of the session.
    fileprivate var standing: SessionSnapshot.Standing {
        switch status {
        case .live, .rescued: .loggedIn
        case .dead(let reason): .ended(reason, quarantinedUntil: nil)
        case .out: .ended(.loggedOut, quarantinedUntil: nil)
        }
    }
}

extension FleetPersistentState {
    /// Whose tokens the session has to have; `nil`: none, it is logged out, or the fleet has no login of it.
    fileprivate var attemptInUse: AttemptID? {
        // An answer that was laid beside the record is not the session's any more, nor is one that a login came after.
        if let answer, answer.placedIn == nil, !isNews { return answer.attempt }
        guard let record, record.status != .out else { return nil }
        return record.attempt
    }

    /// The attempts whose tokens this host must not lose.
    fileprivate var attempts: Set<AttemptID> {
        var attempts: Set<AttemptID> = []
        if let record, record.status != .out { attempts.insert(record.attempt) }
        if let answer { attempts.insert(answer.attempt) }
        return attempts
    }

    /// `nil`: the session has tokens that the record does not speak of, or a logout that is on its way.
    fileprivate var standing: SessionSnapshot.Standing? {
        guard let record, record.status != .out, answer == nil || answer?.placedIn != nil else { return nil }
        return record.standing
    }
}
