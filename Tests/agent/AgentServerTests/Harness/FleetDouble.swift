// SPDX-License-Identifier: MIT

import SealedStore
import SecretMemory
import Synchronization
import TokenCore

@testable import AgentServer

/// The etcd of a fleet that shares the session `work`, in memory: the agent is one host, and the test plays the others.
final class FleetDouble: FleetSharing {
    struct Tokens {
        var access: [UInt8]
        var refresh: [UInt8]
    }

    struct State {
        var view = FleetSnapshot(
            record: nil,
            intent: nil,
            lock: nil,
            lateResults: [],
            place: FleetRevision(cluster: 1, revision: 1),
            time: FleetTime(seconds: 1_000)
        )
        var tokens: [AttemptID: Tokens] = [:]
        /// The epoch of the key with which the record is sealed.
        var epoch: UInt32 = 1
        var watch: AsyncStream<FleetEvent>.Continuation?
        var sealingTrouble: FleetStoreError?
        var writingTrouble: FleetStoreError?
        /// The reads that wait for the test, or `nil` if reads are not held.
        var looks: [CheckedContinuation<Void, Never>]?
    }

    static let binding = FleetLoginSettings(kind: "oidc", issuer: "i", client: "c", endpoint: "e")
    private static let session = AgentHarness.work

    let role: FleetRole
    let epoch: UInt32
    private let memory: SealedMemory
    let state = Mutex(State())

    init(memory: SealedMemory, role: FleetRole = .keeper, epoch: UInt32 = 1) {
        self.memory = memory
        self.role = role
        self.epoch = epoch
    }

    var time: FleetTime? { state.withLock(\.view.time) }

    /// The record in etcd.
    var record: FleetHeader? { state.withLock(\.view.record) }

    var port: FleetDependencies {
        FleetDependencies(name: "team", label: "here", role: role, host: 1, takeoverTimeout: .seconds(120)) {
            self
        }
    }

    /// Ends the watch, so that the host gets no more events.
    func loseWatch() {
        state.withLock { state in
            _ = state.watch?.yield(.storeError(FleetStoreError(.unavailable, "the watch is lost")))
            state.watch = nil
        }
    }

    /// Makes the sealing of logins and logouts fail with `storeError`.
    func refuseSealing(_ storeError: FleetStoreError) {
        state.withLock { $0.sealingTrouble = storeError }
    }

    /// Makes transactions fail with `storeError`.
    func refuseWrites(_ storeError: FleetStoreError) {
        state.withLock { $0.writingTrouble = storeError }
    }

    /// Holds all reads from now on, until ``letLooksGo()``.
    func holdLooks() {
        state.withLock { $0.looks = [] }
    }

    func letLooksGo() {
        let held = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            defer { state.looks = nil }
            return state.looks ?? []
        }
        for look in held { look.resume() }
    }

    /// The number of reads that are held.
    var heldLooks: Int { state.withLock { $0.looks?.count ?? 0 } }

    private static func readResult(of state: State) -> FleetReadResult {
        FleetReadResult(session: session, view: state.view, epoch: state.epoch)
    }

    /// The epoch of the key with which the record is sealed.
    var recordEpoch: UInt32 { state.withLock(\.epoch) }

    /// Delivers the current keys to the watch.
    func changed() {
        state.withLock { state in
            state.view.place.revision += 1
            state.watch?.yield(.shown(Self.readResult(of: state)))
        }
    }

    // MARK: FleetSharing

    func look(at session: SessionName, since epoch: UInt32) async throws(FleetStoreError) -> FleetReadResult {
        await waitUntilReads()
        return state.withLock { Self.readResult(of: $0) }
    }

    private func waitUntilReads() async {
        await withCheckedContinuation { (look: CheckedContinuation<Void, Never>) in
            let isHeld = state.withLock { state -> Bool in
                guard state.looks != nil else { return false }
                state.looks?.append(look)
                return true
            }
            if !isHeld { look.resume() }
        }
    }

    func grantLease(_ lifetime: Duration) async throws(FleetStoreError) -> FleetLease {
        FleetLease(id: 1, lifetime: lifetime, place: state.withLock(\.view.place))
    }

    func seal(
        _ transaction: FleetTransaction,
        of session: SessionName,
        as binding: FleetLoginSettings,
        seen readResult: FleetReadResult,
        contents: [AttemptID: SessionSnapshot],
        lease: FleetLease?
    ) throws(FleetStoreError) -> SealedFleetTransaction {
        let isNews = transaction.changes.contains { change in
            if case .deleteLates = change { true } else { false }
        }
        if isNews, let storeError = state.withLock(\.sealingTrouble) { throw storeError }
        for (attempt, snapshot) in contents { _ = try keep(snapshot, of: attempt, session, as: binding) }
        return SealedFleetTransaction(transaction, if: [], then: [], lease: lease?.id)
    }

    func transact(
        _ transaction: SealedFleetTransaction
    ) async throws(FleetStoreError) -> FleetTransactionResult {
        if let storeError = state.withLock(\.writingTrouble) { throw storeError }
        let isDone = state.withLock { state in
            let isAllowed = transaction.decided.conditions.allSatisfy { condition in
                switch condition {
                case .record(let record): state.view.record == record
                case .intent(let intent): state.view.intent == intent
                case .lock(let lock): state.view.lock == lock
                case .late(let late): state.view.lateResults.contains(late)
                case .noLate: state.view.lateResults.isEmpty
                }
            }
            guard isAllowed else { return false }
            var readResult = Self.readResult(of: state)
            readResult.note(transaction)
            state.view = readResult.view
            let writesRecord = transaction.decided.changes.contains { change in
                if case .putRecord = change { true } else { false }
            }
            if writesRecord { state.epoch = epoch }
            return true
        }
        if isDone { changed() }
        return FleetTransactionResult(isDone: isDone, place: state.withLock(\.view.place))
    }

    func open(
        _ attempt: AttemptID,
        in readResult: FleetReadResult,
        as binding: FleetLoginSettings
    ) throws(FleetStoreError) -> SessionSnapshot? {
        guard readResult.view.record?.attempt == attempt else { return nil }
        return try open(kept: [], of: attempt, readResult.session)
    }

    func keep(
        _ snapshot: SessionSnapshot,
        of attempt: AttemptID,
        _ session: SessionName,
        as binding: FleetLoginSettings
    ) throws(FleetStoreError) -> [UInt8] {
        var refresh: [UInt8] = []
        if case .refreshToken(let secret) = snapshot.renewal { refresh = bytes(of: secret) }
        let access = snapshot.tokens[.primary].map { bytes(of: $0.secret) } ?? []
        state.withLock { $0.tokens[attempt] = Tokens(access: access, refresh: refresh) }
        return []
    }

    func open(
        kept bytes: [UInt8],
        of attempt: AttemptID,
        _ session: SessionName
    ) throws(FleetStoreError) -> SessionSnapshot {
        guard let tokens = state.withLock({ $0.tokens[attempt] }) else {
            throw FleetStoreError(.unreadable, "no tokens of \(attempt)")
        }
        let token = AccessToken(
            secret: seal(tokens.access, as: .accessToken),
            idToken: nil,
            tokenType: "Bearer",
            scope: [],
            obtainedAt: .seconds(1_000),
            expiresAt: .seconds(4_600),
            jitter: 0
        )
        return SessionSnapshot(
            standing: .loggedIn,
            renewal: .refreshToken(seal(tokens.refresh, as: .refreshToken)),
            tokens: [.primary: token],
            loggedInAt: WallTime(secondsSince1970: 1_000),
            tokenEndpoint: "https://id.example/token"
        )
    }

    func mark(of refreshToken: SecretID) throws(FleetStoreError) -> UInt64 {
        bytes(of: refreshToken).reduce(1) { $0 &* 31 &+ UInt64($1) }
    }

    func want(
        _ lineage: Lineage,
        generation: UInt64,
        of session: SessionName
    ) async throws(FleetStoreError) {}

    func follow(
        _ sessions: Set<SessionName>,
        _ take: @escaping @Sendable (FleetEvent) async -> Void
    ) async {
        let (news, watch) = AsyncStream<FleetEvent>.makeStream()
        state.withLock { state in
            state.watch = watch
            watch.yield(.connected)
            watch.yield(.shown(Self.readResult(of: state)))
        }
        for await one in news { await take(one) }
    }

    /// The other host in the list of hosts.
    func survey(_ sessions: Set<SessionName>) async -> FleetSurvey {
        var survey = FleetSurvey()
        let time = state.withLock(\.view.time)
        survey.hosts = [HostDescription(id: 2, role: .keeper, label: "other", version: "1", seen: time)]
        return survey
    }

    func announce(_ host: HostDescription) async throws(FleetStoreError) {}

    func withdraw(host: UInt64) async throws(FleetStoreError) {}

    func discardUnreadable(
        of session: SessionName,
        since epoch: UInt32,
        unless binding: FleetLoginSettings?
    ) async throws(FleetStoreError) -> Int { 0 }

    func close() async {}

    // MARK: Secrets

    private func bytes(of secret: SecretID) -> [UInt8] { (try? memory.open(secret) { Array($0) }) ?? [] }

    private func seal(_ bytes: [UInt8], as kind: SecretKind) -> SecretID {
        (try? bytes.withUnsafeBytes { try memory.seal($0, as: kind) }) ?? SecretID(rawValue: 0)
    }
}
