// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// Creating, opening and locking the vault.
extension SessionStore {
    /// Creates a vault that `slot` opens, and unlocks it.
    ///
    /// An unlocked store without sessions gets a new vault, which replaces the key file slot of the first
    /// start.
    ///
    /// - Throws: ``StoreError/alreadyInitialized`` if it is locked, ``StoreError/sessionsStored``,
    ///   ``StoreError/missingVault(path:)``.
    package func initialize(with slot: NewSlot) throws(StoreError) {
        try work.withLock { work throws(StoreError) in
            try SessionStore.checkCanUnlock(work)
            if work.keeper == nil { try checkHoldsNoRecords() }
        }
        let (fresh, change) = try VaultFileStore.create(in: directory.root, slot, at: clock.wallTime)
        try work.withLock { work throws(StoreError) in
            // A session may have been added while the key was derived from the passphrase.
            try SessionStore.checkCanUnlock(work)
            var keeper = fresh
            try keeper.apply(change)
            work.keeper = keeper
            work.registrations = nil
            try StoreError.allocating(memory.unlock)
            work.ledger = RecordLedger(
                files: files,
                memory: memory,
                ring: change.ring,
                entries: [:],
                manifest: Manifest()
            )
            work.ledger?.unnoted = 1
            work.counter?.requestStep()
            recordGenerations(&work, announcing: true)
            publish(work)
        }
    }

    /// Checks that no new vault takes the place of one that was lost, because the records need that one.
    private func checkHoldsNoRecords() throws(StoreError) {
        let names: [String]
        do throws(StoreFileError) {
            names = try directory.sessions.names()
        } catch {
            throw .unavailable(path: directory.sessions.path, reason: "\(error)")
        }
        guard !names.contains(where: { $0.hasSuffix(".\(RecordFiles.Role.record.rawValue)") }) else {
            throw .missingVault(path: directory.root.path(of: VaultFileStore.fileName))
        }
    }

    private static func checkCanUnlock(_ work: MutableState) throws(StoreError) {
        guard !work.isClosed else { throw .locked }
        guard work.keeper != nil else { return }
        guard let ledger = work.ledger else { throw .alreadyInitialized }
        guard ledger.entries.isEmpty else { throw .sessionsStored }
    }

    /// Opens the vault and reads every session; other calls are not blocked while a passphrase is tried.
    ///
    /// - Throws: ``StoreError/notInitialized``, ``StoreError/wrongPassphrase``,
    ///   ``StoreError/keyFileMissing(path:)``, ``StoreError/wrongKeyFile(path:)``,
    ///   ``StoreError/wrongExternalSecret(source:)``, ``StoreError/damagedVault(path:reason:)``, and the
    ///   errors of ``CounterVerdict``; a rejected store stays as it is.
    package func unlock(
        with secret: UnlockSecret,
        counter: CounterCheckInput = .none
    ) throws(StoreError) -> LoadedSessions {
        try opening(counter) { keeper throws(StoreError) in
            guard let ring = try keeper.open(with: secret) else {
                throw SessionStore.refusal(of: secret, by: keeper)
            }
            return ring
        }
    }

    /// Opens the vault without a user, with key files and the secrets of external providers.
    ///
    /// `external` contains the providers' secrets by slot: the store itself runs no commands.
    ///
    /// - Throws: ``StoreError/secretNeeded``, the error of the last slot tried, or the errors of
    ///   ``CounterVerdict``.
    package func unlockAutomatically(
        external: [Int: GuardedBytes] = [:],
        counter: CounterCheckInput = .none
    ) throws(StoreError) -> LoadedSessions {
        try opening(counter) { keeper throws(StoreError) in
            var failure = StoreError.secretNeeded
            for slot in keeper.descriptions {
                guard let secret = SessionStore.automatic(slot, external) else { continue }
                do throws(StoreError) {
                    // Every slot leads to the same records, so the first that opens is enough.
                    if let ring = try keeper.open(with: secret) { return ring }
                    failure = SessionStore.refusal(of: secret, by: keeper)
                } catch {
                    failure = error
                }
            }
            throw failure
        }
    }

    /// Reads the sessions under the keys that `find` gets from the vault, starting again if the vault has
    /// changed meanwhile.
    private func opening(
        _ counter: CounterCheckInput,
        _ find: (VaultFileStore) throws(StoreError) -> KeyRing
    ) throws(StoreError) -> LoadedSessions {
        while true {
            let locked = try work.withLock { work throws(StoreError) in try SessionStore.lockedKeeper(work) }
            guard let keeper = locked else { return LoadedSessions() }
            let ring = try find(keeper)
            let loaded = try work.withLock { work throws(StoreError) -> LoadedSessions? in
                guard let present = try SessionStore.lockedKeeper(work) else { return LoadedSessions() }
                return present.file == keeper.file ? try load(&work, present, ring, counter) : nil
            }
            if let loaded { return loaded }
        }
    }

    private static func automatic(_ slot: SlotDescription, _ external: [Int: GuardedBytes]) -> UnlockSecret? {
        if case .keyFile(let path) = slot.source { return .keyFile(path: path) }
        return external[slot.index].map { .external(slot: slot.index, $0) }
    }

    /// Returns the vault to unlock, or `nil` if it is already unlocked.
    private static func lockedKeeper(_ work: MutableState) throws(StoreError) -> VaultFileStore? {
        guard !work.isClosed else { throw .locked }
        guard let keeper = work.keeper else { throw .notInitialized }
        return work.ledger == nil ? keeper : nil
    }

    private static func refusal(of secret: UnlockSecret, by keeper: VaultFileStore) -> StoreError {
        switch secret {
        case .passphrase: return .wrongPassphrase
        case .keyFile(let path):
            return .wrongKeyFile(path: path ?? keeper.directory.path(of: KeyFile.defaultName))
        case .external(let index, _):
            let slots = keeper.descriptions
            guard slots.indices.contains(index), case .external = slots[index].source else {
                return .noSuchSlot(index)
            }
            return .wrongExternalSecret(source: slots[index].detail)
        }
    }

    /// Wipes the keys and every secret in memory; the stored sessions return with the next unlock.
    package func lock() {
        work.withLock { work in
            guard var ledger = work.ledger else { return }
            _ = ledger.writeAllPending()
            work.ledger = ledger
            recordLastGenerations(&work)
            work.parked = ledger.pendingCommits
            work.ledger = nil
            forgetAnswerPlaces()
            work.registrations = nil
            memory.lock()
            publish(work)
        }
    }

    private func load(
        _ work: inout MutableState,
        _ keeper: VaultFileStore,
        _ ring: KeyRing,
        _ evidence: CounterCheckInput
    ) throws(StoreError) -> LoadedSessions {
        var problems: [StoreProblem] = []
        let manifest = readManifest(ring, keeper, &problems)
        let path = directory.root.path(of: Manifest.fileName)
        let verdict = try CounterVerdict(stored: manifest.counter, evidence, path: path)
        try StoreError.allocating(memory.unlock)
        let reader = RecordReader(ring: ring, memory: memory, clock: clock)
        var recovery = RecordRecovery(files: files, reader: reader, parked: work.parked, manifest: manifest)
        do throws(StoreFileError) {
            try recovery.run()
        } catch {
            throw .unavailable(path: files.directory.path, reason: error.description)
        }
        try keeper.finishReplacement()
        var ledger = RecordLedger(
            files: files,
            memory: memory,
            ring: ring,
            entries: recovery.entries,
            manifest: recovery.manifest
        )
        problems += recovery.loaded.problems + ledger.writeAllPending()
        if ledger.manifest != manifest || !problems.isEmpty { ledger.unnoted += 1 }
        if manifest.counter != nil, verdict.counter == nil { ledger.unnoted += 1 }
        work.parked = [:]
        work.ledger = ledger
        work.counter = CounterIncrementSchedule(verdict, stored: manifest.counter)
        recordGenerations(&work)
        publish(work)
        return LoadedSessions(sessions: recovery.loaded.sessions, problems: problems, counter: verdict)
    }

    /// Reads the manifest, or returns an empty one and adds a problem if it cannot be used.
    private func readManifest(
        _ ring: KeyRing,
        _ keeper: VaultFileStore,
        _ problems: inout [StoreProblem]
    ) -> Manifest {
        let path = directory.root.path(of: Manifest.fileName)
        do {
            let bytes = try directory.root.contents(of: Manifest.fileName, limit: 64 << 20)
            let manifest = try Manifest(bytes, under: ring)
            if keeper.file.generation < manifest.vaultGeneration {
                let sentence = "the vault file is an old copy: removed slots may still open it"
                problems.append(StoreProblem(kind: .oldVault, session: nil, description: sentence))
            }
            return manifest
        } catch let fault as RecordError {
            let sentence = "\(path) \(fault.sentence); old copies of records cannot be detected"
            problems.append(StoreProblem(kind: .manifest, session: nil, description: sentence))
        } catch {
            let sentence = "\(path) cannot be read: \(error); old copies of records cannot be detected"
            problems.append(StoreProblem(kind: .manifest, session: nil, description: sentence))
        }
        return Manifest()
    }
}
