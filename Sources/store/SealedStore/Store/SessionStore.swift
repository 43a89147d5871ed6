// SPDX-License-Identifier: MIT

import SecretMemory
import Synchronization
import TokenCore

/// The sealed store: the vault that guards it and the sessions in it.
///
/// - Entry points: ``initialize(with:)``, ``unlock(with:counter:)``, ``lock()``; ``reserve(_:_:)`` before a
///   refresh token is sent, ``commit(_:_:)`` or ``release(_:answered:)`` after; ``maintain()`` for the rest.
/// - May not: run programs, use the network, or write a token unsealed. Damaged files are renamed, never
///   deleted.
/// - Runs on: any thread. Every call but ``state``, ``slots``, ``vaultID``, ``epoch``, ``counterValue`` and
///   ``pendingSessions`` may block on the disk, and those that try a passphrase take about half a second.
package final class SessionStore: SessionStoring {
    /// The mutable state; its lock is held during disk operations.
    struct MutableState {
        var keeper: VaultFileStore?
        var ledger: RecordLedger?
        /// The registered clients, or `nil` if they were not read since the store was unlocked.
        var registrations: [ClientRegistration]?
        /// The commits that the disk rejected before the store was locked, still sealed.
        var parked: [RandomID: RecordLedgerEntry.PendingCommit] = [:]
        /// The number of consecutive rounds of ``SessionStore/maintain()`` that left something unwritten.
        var failedRounds = 0
        /// The state of the counter that reveals an old copy of the store, or `nil` if there is no counter.
        var counter: CounterIncrementSchedule?
        var isClosed = false
    }

    /// The values that callers can read without waiting for the disk.
    struct Summary: Sendable {
        var state = StoreState.uninitialized
        var slots: [SlotDescription] = []
        var vaultID: RandomID?
        var epoch: UInt32 = 0
        var pending: [SessionName] = []
        var counter: UInt64?
    }

    let directory: StoreDirectory
    let files: RecordFiles
    let memory: SealedMemory
    let work: Mutex<MutableState>
    private let timekeeper: any Timekeeper
    private let boot: RandomID
    private let summary = Mutex(Summary())
    /// The recordings of reserved attempts, available without waiting for the disk.
    private let answers = Mutex<[SessionName: ResponseRecording]>([:])
    /// The number of commits after which the manifest is written without waiting for ``maintain()``.
    private static let unnotedLimit = 256

    /// Opens the store in `directory` and reads its vault file, without unlocking it.
    ///
    /// - Parameters:
    ///   - directory: the state directory, verified and locked.
    ///   - runtimeDirectory: the absolute path of the private directory that survives a crash but not a
    ///     reboot, or `nil` for no lifeboats.
    ///   - memory: receives the secrets of unlocked sessions.
    ///   - timekeeper: the clocks stored with tokens.
    ///   - boot: the running boot.
    /// - Throws: ``StoreError/futureVersion(path:version:)``, ``StoreError/damagedVault(path:reason:)``,
    ///   ``StoreError/unacceptableCost(path:)``, ``StoreError/unsafe(path:reason:)``.
    package init(
        directory: StoreDirectory,
        runtimeDirectory: String?,
        memory: SealedMemory,
        timekeeper: any Timekeeper,
        boot: RandomID = BootID.current()
    ) throws(StoreError) {
        self.directory = directory
        self.memory = memory
        self.timekeeper = timekeeper
        self.boot = boot
        files = RecordFiles(
            directory: directory.sessions,
            lifeboats: try SessionStore.lifeboats(runtimeDirectory, directory)
        )
        work = Mutex(MutableState(keeper: try VaultFileStore.read(directory.root)))
        work.withLock { publish($0) }
    }

    private static func lifeboats(
        _ runtimeDirectory: String?,
        _ store: StoreDirectory
    ) throws(StoreError) -> OpenDirectory? {
        guard let runtimeDirectory else { return nil }
        let directory = try TrustedPath.openDirectory(runtimeDirectory, files: store.root.files)
        return try TrustedPath.openDirectory("lifeboats", in: directory)
    }

    package var stateDirectory: String { directory.path }

    /// Writes the path of the agent's socket into the lock file.
    package func note(socket: String) { directory.note(socket: socket) }
    package var state: StoreState { summary.withLock(\.state) }
    package var slots: [SlotDescription] { summary.withLock(\.slots) }
    package var vaultID: String? { summary.withLock { $0.vaultID?.description } }
    /// The number of the vault's current master key.
    package var epoch: UInt32 { summary.withLock(\.epoch) }
    /// The sessions whose latest tokens are not on the disk yet.
    package var pendingSessions: [SessionName] { summary.withLock(\.pending) }

    /// The last value of the counter that reveals an old copy of the store, or `nil` if there is no counter.
    package var counterValue: UInt64? { summary.withLock(\.counter) }

    package func reserve(_ session: SessionName, _ snapshot: SessionSnapshot) throws(StorageFailure) {
        try work.withLock { work throws(StorageFailure) in
            guard work.ledger != nil else { throw SessionStore.unavailable(work) }
            let (boot, timekeeper) = (boot, timekeeper)
            try work.ledger?.reserve(session, snapshot) {
                ClockReading(boot: boot, now: timekeeper.now, wallTime: timekeeper.wallTime)
            }
            note(work.ledger?.responseRecording(of: session), for: session)
        }
    }

    /// Returns the recording for the reserved attempt of `session`, or `nil` if none is reserved.
    package func responseRecording(of session: SessionName) -> ResponseRecording? {
        answers.withLock { $0[session] }
    }

    private func note(_ place: ResponseRecording?, for session: SessionName) {
        answers.withLock { $0[session] = place }
    }

    /// Releases all recordings, with the keys that they hold.
    func forgetAnswerPlaces() {
        answers.withLock { $0 = [:] }
    }

    package func commit(_ session: SessionName, _ snapshot: SessionSnapshot) -> CommitDurability {
        work.withLock { work in
            defer { note(nil, for: session) }
            let outcome = work.ledger?.commit(session, snapshot, at: clock)
            guard let outcome else { return .memoryOnly(SessionStore.unavailable(work)) }
            if (work.ledger?.unnoted ?? 0) >= SessionStore.unnotedLimit { recordGenerations(&work) }
            if outcome != .durable || !pendingSessions.isEmpty { publish(work) }
            return outcome
        }
    }

    package func release(_ session: SessionName, answered: Bool) {
        work.withLock { work in
            work.ledger?.release(session, answered: answered)
            note(nil, for: session)
        }
    }

    package func forget(_ session: SessionName) throws(StorageFailure) {
        try work.withLock { work throws(StorageFailure) in
            guard work.ledger != nil else { throw SessionStore.unavailable(work) }
            defer { publish(work) }
            note(nil, for: session)
            try work.ledger?.forget(session)
            work.counter?.requestStep()
            recordGenerations(&work, announcing: true)
        }
    }

    /// Updates the manifest and lets another process use the store; nothing can be stored afterwards.
    package func close() {
        work.withLock { work in
            guard !work.isClosed else { return }
            _ = work.ledger?.writeAllPending()
            recordLastGenerations(&work)
            work.ledger = nil
            forgetAnswerPlaces()
            work.isClosed = true
            publish(work)
            directory.close()
        }
    }

    var clock: ClockReading {
        ClockReading(boot: boot, now: timekeeper.now, wallTime: timekeeper.wallTime)
    }

    /// Updates the ``Summary``, which callers read without waiting for the disk, to the state of `work`.
    func publish(_ work: MutableState) {
        var next = Summary()
        if work.ledger != nil { next.state = .unlocked } else if work.keeper != nil { next.state = .locked }
        next.slots = work.keeper?.descriptions ?? []
        next.vaultID = work.keeper?.file.id
        next.epoch = work.keeper?.file.epoch ?? 0
        next.pending = work.ledger?.pendingSessions ?? []
        next.counter = work.counter?.counter
        summary.withLock { $0 = next }
    }

    private static func unavailable(_ work: MutableState) -> StorageFailure {
        StorageFailure(message: work.isClosed ? "the store is closed" : "the store is locked")
    }
}
