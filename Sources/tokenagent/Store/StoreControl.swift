// SPDX-License-Identifier: MIT

import AgentServer
import CHardening
import Logging
import SealedStore
import SecretMemory
import Synchronization
import Threads
import TokenCore

/// The agent's access to the sealed store.
///
/// The store works with keys and files, the agent with requests. This type connects the two.
final class StoreControl: StoreControlling {
    let store: SessionStore
    private let secrets: ExternalSecrets
    /// The closure that is called when the store is unlocked after a lock, which erased the configured client
    /// secrets.
    private let onUnlock: @Sendable () -> Void
    private let maintenance: StoreMaintenanceSchedule
    /// The sessions read by the last unlock, until the agent takes them.
    private let loaded = Mutex<LoadedSessions?>(nil)
    private let noticed = Mutex<[StoreProblem]>([])
    private let isWiped = Mutex(false)
    private let refusal = Mutex<StoreError?>(nil)
    /// The thread that opens the store before the agent requests it.
    private let ahead = Mutex<SystemThread?>(nil)
    private let logger: Logger

    init(
        store: SessionStore,
        secrets: ExternalSecrets,
        maintenance: StoreMaintenanceSchedule,
        logger: Logger,
        onUnlock: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.secrets = secrets
        self.maintenance = maintenance
        self.logger = logger
        self.onUnlock = onUnlock
    }

    /// The problems found when the store was last unlocked.
    var problems: [StoreProblem] { noticed.withLock { $0 } }
    /// The error of the last unlock, or `nil` if it succeeded.
    var lastRefusal: StoreError? { refusal.withLock { $0 } }
    /// The maintenance of the counter that detects old copies of the store.
    var counter: RollbackCounterUpdater { maintenance.counter }

    // MARK: Sessions

    func reserve(_ session: SessionName, _ snapshot: SessionSnapshot) throws(StorageFailure) {
        try store.reserve(session, snapshot)
    }

    func commit(_ session: SessionName, _ snapshot: SessionSnapshot) -> CommitDurability {
        defer { maintenance.plan() }
        return store.commit(session, snapshot)
    }

    func release(_ session: SessionName, answered: Bool) {
        store.release(session, answered: answered)
    }

    func forget(_ session: SessionName) throws(StorageFailure) {
        defer { maintenance.plan() }
        try store.forget(session)
    }

    func loadSessions() -> StoreContents {
        // Reading the configuration and the records took much more memory than they need from now on.
        defer { hardening_release_heap() }
        let fresh = loaded.withLock { loaded in
            defer { loaded = nil }
            return loaded
        }
        var sessions = (fresh?.sessions ?? store.readSessions()).map { found in
            StoredSession(name: found.name, content: .record(found))
        }
        sessions += (fresh?.problems ?? []).compactMap(StoredSession.init)
        return StoreContents(
            sessions: sessions,
            lossOfUnknownSessions: StoreProblem.lossOfUnknownSessions(problems)
        )
    }

    // MARK: The vault

    /// Starts to open the store while the rest of the agent starts, if a key file may be sufficient.
    ///
    /// Until the agent calls ``unlock(passphrase:)``, which waits for the end, the store counts as locked. If
    /// it does not open, that call tries again and reports the error.
    func openAhead() {
        guard store.state == .locked, !counter.program.isConfigured else { return }
        let ways = vaultStatus().slots.map(\.kind).filter(\.opensByItself)
        // A command for the key must not run twice.
        guard !ways.isEmpty, ways.allSatisfy({ $0 == .keyFile }) else { return }
        ahead.withLock { $0 = try? SystemThread { [self] in try? open(nil) } }
    }

    func vaultStatus() -> VaultStatus {
        let isAhead = ahead.withLock { $0 != nil }
        let state = store.state
        return VaultStatus(
            state: isAhead && state == .unlocked ? .locked : state,
            vaultID: store.vaultID,
            epoch: Int(store.epoch),
            slots: store.slots
        )
    }

    /// Waits for ``openAhead()`` to finish.
    ///
    /// Requests to lock and to unlock run one after the other.
    private func endOpeningAhead() {
        ahead.withLock(\.self)?.join()
        ahead.withLock { $0 = nil }
    }

    func lock() {
        endOpeningAhead()
        isWiped.withLock { $0 = true }
        store.lock()
        maintenance.plan()
    }

    func unlock(passphrase: [UInt8]?) throws(StoreAccessError) {
        endOpeningAhead()
        do throws(StoreError) {
            try open(passphrase)
        } catch {
            refusal.withLock { $0 = error }
            let hasPassphrase = store.slots.contains { $0.kind == .passphrase }
            throw StoreAccessError(error, passphraseIsLeft: passphrase == nil && hasPassphrase)
        }
        refusal.withLock { $0 = nil }
        let wasWiped = isWiped.withLock { isWiped in
            defer { isWiped = false }
            return isWiped
        }
        if wasWiped { onUnlock() }
        maintenance.plan()
    }

    private func open(_ passphrase: [UInt8]?) throws(StoreError) {
        // Another request was first. Its sessions may still wait to be taken, and no passphrase is checked.
        guard store.state != .unlocked else { return }
        let counter = maintenance.counter.program
        if let passphrase {
            let secret = UnlockSecret.passphrase(try .guarding(passphrase))
            keep(try store.unlock(with: secret, counter: counter.evidence))
        } else {
            let external = secrets.read(for: store.slots)
            do throws(StoreError) {
                keep(try store.unlockAutomatically(external: external.secrets, counter: counter.evidence))
            } catch {
                // A command that reported a wrong PIN must not be run again because a key file is missing.
                let isFinal = external.failure?.mayPass == false && error.mayPass
                throw isFinal || error == .secretNeeded ? external.failure ?? error : error
            }
        }
    }

    /// Connects the counter to the store that this process has just created.
    func acceptCounter() throws(StoreError) {
        do throws(StoreError) {
            try store.accept(maintenance.counter.program.reading)
        } catch {
            isWiped.withLock { $0 = true }
            refusal.withLock { $0 = error }
            throw error
        }
        if counter.program.isConfigured, let sentence = CounterVerdict.adopted(0).news {
            logger.notice("\(sentence)")
        }
        maintenance.plan()
    }

    private func keep(_ found: LoadedSessions) {
        if let sentence = found.counter.news { logger.notice("\(sentence)") }
        noticed.withLock { $0 = found.problems }
        loaded.withLock { $0 = found }
    }

    func initialize(_ slot: SlotRequest, _ proof: VaultProof) throws(StoreAccessError) {
        try changing(proof) { () throws(StoreError) in try store.initialize(with: try newSlot(slot)) }
    }

    func addSlot(_ slot: SlotRequest, _ proof: VaultProof) throws(StoreAccessError) {
        try changing(proof) { () throws(StoreError) in try store.addSlot(try newSlot(slot)) }
    }

    func removeSlot(_ index: Int, _ proof: VaultProof) throws(StoreAccessError) {
        try changing(proof) { () throws(StoreError) in try store.removeSlot(index) }
    }

    func changePassphrase(from old: [UInt8], to new: [UInt8]) throws(StoreAccessError) {
        // The change itself checks the old passphrase.
        try changing(.confirmed) { () throws(StoreError) in
            try store.changePassphrase(from: .guarding(old), to: .guarding(new))
        }
    }

    func rekey(_ proof: VaultProof) throws(StoreAccessError) {
        try changing(proof) { () throws(StoreError) in
            var known = secrets.read(for: store.slots).secrets.map {
                UnlockSecret.external(slot: $0.key, $0.value)
            }
            if case .passphrase(let bytes) = proof { known.append(.passphrase(try .guarding(bytes))) }
            try store.rekey(with: known)
        }
    }

    private func changing(
        _ proof: VaultProof,
        _ change: () throws(StoreError) -> Void
    ) throws(StoreAccessError) {
        defer { maintenance.plan() }
        do throws(StoreError) {
            switch proof {
            case .confirmed: break
            case .passphrase(let bytes): try store.check(.passphrase(.guarding(bytes)))
            case .key(let bytes): try store.check(.key(.guarding(bytes)))
            }
            try change()
        } catch {
            throw StoreAccessError(error)
        }
    }

    private func newSlot(_ request: SlotRequest) throws(StoreError) -> NewSlot {
        switch request {
        case .passphrase(let bytes): return .passphrase(try .guarding(bytes))
        case .keyFile(let path): return .keyFile(path: path)
        case .external(let kind, let name):
            guard let provider = ExternalProvider.allCases.first(where: { $0.kind == kind }) else {
                throw .secretNeeded
            }
            return .external(provider, name: name, try provider.secret(name, by: secrets))
        }
    }
}
