// SPDX-License-Identifier: MIT

import TokenCore

/// The data that this host has of one shared session: its record, and the places from which to take each
/// attempt's tokens.
///
/// The session itself has the tokens of one attempt. Sealed copies of others are in its record on disk until
/// the fleet does not need them any more. Tokens in etcd can be opened again. Confined to the agent's event
/// loop.
final class LocalSharedRecord {
    /// A change that is not in the record on disk yet: new tokens, or a logout.
    struct UnsavedChange {
        /// The attempt that obtained the tokens, or `nil` for a logout.
        var attempt: AttemptID?
        /// The login that a logout ends, or `nil` if it is not a logout.
        var ended: Lineage?
        /// The session's commit that waits for the change, or `nil` if the session has not requested one.
        var commit: CommitNumber?
        var snapshot: SessionSnapshot
    }

    let name: SessionName
    private let sharing: any FleetSharing
    private let parts: FleetParts
    /// The client and server for which the session's tokens are.
    private let binding: FleetLoginSettings
    /// The attempt whose tokens the session has, or will have once they are on disk; `nil` if there is none.
    private var own: AttemptID?
    /// The sealed tokens of attempts other than ``own``.
    private var others: [AttemptID: [UInt8]]
    /// The sealed tokens that the latest write has removed from ``others``.
    ///
    /// Some of them must be revoked.
    private var leaving: [AttemptID: [UInt8]] = [:]
    /// The highest epoch of the fleet's keys that this host has seen for the session.
    private(set) var epoch: UInt32
    /// The result of the latest read of the session's keys in etcd.
    private(set) var readResult: FleetReadResult?
    /// The tokens of the record in ``readResult``, if they had to be opened because this host lacked them.
    private var opened: (attempt: AttemptID, snapshot: SessionSnapshot)?
    /// The tokens from a response to this host that are not in its record on disk yet.
    private(set) var answer: UnsavedChange?
    /// A login or logout on this host that is not in its record on disk yet.
    ///
    /// It may have to wait until the response to a refresh is on disk.
    private(set) var news: UnsavedChange?
    /// The tokens of another host from the time they are written to disk until the session is told to adopt
    /// them.
    private var coming: SessionSnapshot?

    init(
        _ name: SessionName,
        _ keeping: SessionFleetState?,
        _ binding: FleetLoginSettings,
        sharing: any FleetSharing,
        parts: FleetParts
    ) {
        self.name = name
        self.parts = parts
        self.binding = binding
        self.sharing = sharing
        own = keeping?.attempt
        others = keeping?.others ?? [:]
        epoch = keeping?.epoch ?? 0
    }

    /// Returns the fleet state that is stored with the session's record on disk.
    func keeping(_ memory: FleetPersistentState) -> SessionFleetState {
        SessionFleetState(memory: memory, attempt: own, others: others, epoch: epoch, binding: binding)
    }

    /// Stores the tokens of a response until they are in the record on disk.
    func await(answer: UnsavedChange) { self.answer = answer }

    /// Stores a login or logout until it is in the record on disk.
    ///
    /// - Returns: The previous login or logout, which is not finished any more, or `nil` if there was none.
    func await(news: UnsavedChange) -> UnsavedChange? {
        defer { self.news = news }
        return self.news
    }

    /// Removes the pending response, because the session has its tokens now or does not need them.
    func settleAnswer() -> UnsavedChange? {
        defer { answer = nil }
        return answer
    }

    /// Removes the pending login or logout that `header` describes.
    ///
    /// - Returns: The login or logout, or `nil` if it was already removed.
    func settleNews(_ header: FleetHeader) -> UnsavedChange? {
        guard let found = news, found.attempt == (header.status == .out ? nil : header.attempt) else {
            return nil
        }
        news = nil
        return found
    }

    /// Returns whether a pending logout of this host ends the login of `header`.
    func isEnding(_ header: FleetHeader) -> Bool {
        guard let news, header.status != .out else { return false }
        return news.ended == header.lineage
    }

    /// Returns the tokens of `attempt` if they are pending, otherwise `nil`.
    private func pending(_ attempt: AttemptID) -> SessionSnapshot? {
        [answer, news].lazy.compactMap(\.self).first { $0.attempt == attempt }?.snapshot
    }

    /// Returns whether the session itself provided the tokens of `attempt`, or the logout, and so has nothing
    /// to adopt.
    private func brings(_ attempt: AttemptID?) -> Bool {
        if let attempt { pending(attempt) != nil } else { news.map { $0.attempt == nil } ?? false }
    }

    // MARK: Reads

    /// Stores the result of a read of etcd, after opening the tokens that this host lacks.
    ///
    /// - Throws: ``FleetStoreError`` if the record cannot be opened. It then counts as not read.
    func look(_ readResult: FleetReadResult) throws(FleetStoreError) {
        guard readResult.view.record == nil || readResult.epoch >= epoch else {
            throw FleetStoreError(
                .unreadable,
                "cannot use the record of \(name) in etcd: it is sealed with an old fleet key",
                remedy: FleetStoreError.repair(name),
                isMistake: true
            )
        }
        letGoOfOpened()
        if let record = readResult.view.record, record.status != .out, record.attempt != own,
            pending(record.attempt) == nil, others[record.attempt] == nil,
            let snapshot = try sharing.open(record.attempt, in: readResult, as: binding)
        {
            opened = (record.attempt, snapshot)
        }
        self.readResult = readResult
        epoch = max(epoch, readResult.epoch)
    }

    /// Updates ``readResult`` with the changes of this host's transaction.
    func note(_ transaction: SealedFleetTransaction) {
        readResult?.note(transaction)
    }

    /// Erases the tokens in ``opened``, which the session does not use.
    func letGoOfOpened() {
        guard let snapshot = opened?.snapshot else { return }
        opened = nil
        parts.erasure.erase(snapshot.secrets)
    }

    /// Returns whether the tokens in ``opened`` are those of this record and the session does not have them.
    func canTake(_ record: FleetHeader) -> Bool {
        own != record.attempt && opened?.attempt == record.attempt
    }

    // MARK: Tokens

    /// The tokens of an attempt, and whether they were opened only for the caller.
    ///
    /// If `isLent` is true, the caller must erase them.
    struct AttemptTokens {
        var snapshot: SessionSnapshot
        var isLent: Bool
    }

    /// Returns the tokens of `attempt`, or `nil` if this host does not have them.
    func find(_ attempt: AttemptID) throws(FleetStoreError) -> AttemptTokens? {
        if let pending = pending(attempt) { return AttemptTokens(snapshot: pending, isLent: false) }
        if own == attempt, let present = present() {
            return AttemptTokens(snapshot: present, isLent: false)
        }
        if let opened, opened.attempt == attempt {
            return AttemptTokens(snapshot: opened.snapshot, isLent: false)
        }
        if let bytes = others[attempt] ?? leaving[attempt] {
            return AttemptTokens(snapshot: try sharing.open(kept: bytes, of: attempt, name), isLent: true)
        }
        guard let readResult, let snapshot = try sharing.open(attempt, in: readResult, as: binding) else {
            return nil
        }
        return AttemptTokens(snapshot: snapshot, isLent: true)
    }

    /// Returns a copy of an attempt's tokens from the latest read, or `nil` if it has none.
    ///
    /// The caller must erase the copy.
    func copy(of attempt: AttemptID) -> SessionSnapshot? {
        guard let readResult else { return nil }
        return try? sharing.open(attempt, in: readResult, as: binding)
    }

    /// Seals a transaction together with the tokens that it needs.
    func seal(
        _ transaction: FleetTransaction,
        lease: FleetLease?
    ) throws(FleetStoreError) -> SealedFleetTransaction {
        guard let readResult else { throw FleetStoreError(.unknownValue, "nothing was read") }
        var snapshots: [AttemptID: SessionSnapshot] = [:]
        var lent: Set<SecretID> = []
        defer { parts.erasure.erase(lent) }
        for attempt in transaction.attempts {
            guard let found = try find(attempt) else {
                throw FleetStoreError(.unreadable, "this host lacks tokens of \(name) that the fleet needs")
            }
            if found.isLent { lent.formUnion(found.snapshot.secrets) }
            snapshots[attempt] = found.snapshot
        }
        return try sharing.seal(
            transaction,
            of: name,
            as: binding,
            seen: readResult,
            contents: snapshots,
            lease: lease
        )
    }

    /// Returns the mark of the snapshot's refresh token (``FleetHeader/tokenMark``).
    ///
    /// A login without a refresh token, which ends with its access token, has the mark 0.
    func mark(of snapshot: SessionSnapshot) -> UInt64 {
        guard let secret = snapshot.renewal.refreshToken else { return 0 }
        return (try? sharing.mark(of: secret)) ?? 0
    }

    private func present() -> SessionSnapshot? {
        coming ?? parts.registry[name]?.session.snapshot(at: parts.timekeeper.moment)
    }

    // MARK: Writing

    /// Makes everything that `memory` refers to durable in one write.
    func write(_ memory: FleetPersistentState, then: @escaping (CommitDurability) -> Void) {
        let attempt = memory.attemptInUse
        let others = copies(of: memory.attempts.subtracting([attempt].compactMap(\.self)))
        leaving = self.others.filter { others[$0.key] == nil }
        if let own, own != attempt, others[own] == nil, let present = present() {
            leaving[own] = try? sharing.keep(present, of: own, name, as: binding)
        }
        let found = next(attempt)
        var snapshot = found?.snapshot ?? SessionSnapshot(loggedOutAt: parts.timekeeper.moment)
        let isComing = attempt != own && !brings(attempt)
        if attempt != own {
            letGoOfComing()
            coming = isComing ? snapshot : nil
        }
        if let attempt, opened?.attempt == attempt { opened = nil }
        // `own` must not name missing tokens, or the session's current tokens would be taken for them.
        own = found == nil ? nil : attempt
        self.others = others
        snapshot.standing = memory.standing ?? snapshot.standing
        if coming != nil { coming?.standing = snapshot.standing }
        snapshot.fleet = keeping(memory)
        let name = name
        parts.storeThread.run { [snapshot] in
            $0.commit(name, snapshot)
        } then: { [parts] in
            if let found, found.isLent, !isComing { parts.erasure.erase(found.snapshot.secrets) }
            then($0)
        }
    }

    /// Erases the tokens in ``coming``, which the session does not adopt because a logout came first.
    private func letGoOfComing() {
        guard let snapshot = coming else { return }
        let held = parts.registry[name]?.session.snapshot(at: parts.timekeeper.moment)?.secrets ?? []
        parts.erasure.erase(snapshot.secrets.subtracting(held))
    }

    /// Writes the session's record to disk without tokens, but with this host's fleet state.
    func writeBlank(_ memory: FleetPersistentState) {
        var snapshot = SessionSnapshot(loggedOutAt: parts.timekeeper.moment)
        snapshot.fleet = keeping(memory)
        parts.storeThread.run { [name, snapshot] in _ = $0.commit(name, snapshot) }
    }

    /// Returns the session's state with the tokens of `attempt`, or `nil` if this host does not have them.
    private func next(_ attempt: AttemptID?) -> AttemptTokens? {
        // A record that cannot be opened was not accepted: see look(_:in:).
        if let attempt { return try? find(attempt) }
        if let news, news.attempt == nil {
            return AttemptTokens(snapshot: news.snapshot, isLent: false)
        } else if let present = parts.registry[name]?.session.snapshot(at: parts.timekeeper.moment),
            present.isLoggedOut
        {
            return AttemptTokens(snapshot: present, isLent: false)
        }
        return AttemptTokens(snapshot: SessionSnapshot(loggedOutAt: parts.timekeeper.moment), isLent: false)
    }

    /// Returns sealed copies of the tokens of `attempts`, for the record on disk.
    private func copies(of attempts: Set<AttemptID>) -> [AttemptID: [UInt8]] {
        var copies: [AttemptID: [UInt8]] = [:]
        for attempt in attempts {
            if let copy = others[attempt] {
                copies[attempt] = copy
            } else if let found = try? find(attempt) {
                copies[attempt] = try? sharing.keep(found.snapshot, of: attempt, name, as: binding)
                if found.isLent { parts.erasure.erase(found.snapshot.secrets) }
            }
        }
        return copies
    }

    /// Returns the snapshot that the session adopts with this record: other tokens, or its own tokens with
    /// another state.
    func take(_ header: FleetHeader) -> SessionSnapshot {
        defer { coming = nil }
        let found = coming ?? next(header.status == .out ? nil : own)?.snapshot
        var snapshot = found ?? SessionSnapshot(loggedOutAt: parts.timekeeper.moment)
        snapshot.standing = header.standing
        snapshot.fleet = nil
        return snapshot
    }
}

extension SessionSnapshot {
    /// Creates the snapshot of a logged-out session at a host that has none of its tokens.
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
    /// The session's state as this record describes it.
    fileprivate var standing: SessionSnapshot.LoginState {
        switch status {
        case .live, .rescued: .loggedIn
        case .dead(let reason): .ended(reason, quarantinedUntil: nil)
        case .out: .ended(.loggedOut, quarantinedUntil: nil)
        }
    }
}

extension FleetPersistentState {
    /// The attempt whose tokens the session must have, or `nil` if the session is logged out or has no login
    /// in the fleet.
    fileprivate var attemptInUse: AttemptID? {
        // A response stored in etcd next to the record is not the session's any more, nor is one older than a
        // new login.
        if let answer, answer.placedIn == nil, !isUnpublished { return answer.attempt }
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

    /// The session's state as the record describes it, or `nil` if the record does not decide the state.
    ///
    /// That is so if the session has newer tokens than the record, or if a logout is pending.
    fileprivate var standing: SessionSnapshot.LoginState? {
        guard let record, record.status != .out, answer == nil || answer?.placedIn != nil else { return nil }
        return record.standing
    }
}
