// SPDX-License-Identifier: MIT

import Dispatch
import SealedStore
import SecretMemory
import Synchronization
import TestSupport
import TokenCore

@testable import AgentServer

/// A store in memory behind the whole port: ``FakeStore`` for the sessions, a passphrase for the lock.
final class MemoryStore: StoreControlling {
    let disk = FakeStore()
    private let memory: SealedMemory
    private let passphrase = "open sesame"
    private let locked = Mutex(false)
    private let sealed = Mutex<[SessionName: [SecretID: [UInt8]]]>([:])
    private let lost = Mutex<[StoredSession]>([])
    private let keyFile = Mutex<KeyFile?>(nil)
    private let loss = Mutex<String?>(nil)
    private let tried = Mutex(0)
    private let slowness = Mutex<DispatchSemaphore?>(nil)

    init(memory: SealedMemory) {
        self.memory = memory
    }

    /// Adds a session whose record cannot be read.
    func lose(_ name: SessionName, _ reason: EndReason, message: String) {
        lost.withLock { $0.append(StoredSession(name: name, content: .lost(reason, message: message))) }
    }

    /// Adds a record of which nobody can tell whose it is.
    func loseUnknown(message: String) {
        loss.withLock { $0 = message }
    }

    /// Proofs looked at so far.
    var proofs: Int { tried.withLock { $0 } }

    /// Has every passphrase from now on take until ``finishPassphrase()``.
    func delayPassphrases() {
        slowness.withLock { $0 = DispatchSemaphore(value: 0) }
    }

    func finishPassphrase() {
        slowness.withLock { $0 }?.signal()
    }

    /// Has all slots open by themselves: there is a key file, and no passphrase.
    func opensByItself() {
        let file = KeyFile()
        keyFile.withLock { $0 = file }
    }

    /// Locks the store behind a key file that is still to come.
    func lock(behind file: KeyFile) {
        keyFile.withLock { $0 = file }
        locked.withLock { $0 = true }
    }

    func reserve(_ session: SessionName, _ snapshot: SessionSnapshot) throws(StorageFailure) {
        try disk.reserve(session, snapshot)
    }

    func commit(_ session: SessionName, _ snapshot: SessionSnapshot) -> CommitDurability {
        let bytes = Dictionary(
            uniqueKeysWithValues: snapshot.secrets.map { id in
                (id, (try? memory.open(id) { Array($0) }) ?? [])
            }
        )
        sealed.withLock { $0[session] = bytes }
        return disk.commit(session, snapshot)
    }

    func release(_ session: SessionName, answered: Bool) {
        disk.release(session, answered: answered)
    }

    func forget(_ session: SessionName) throws(StorageFailure) {
        try disk.forget(session)
    }

    func vaultStatus() -> VaultStatus {
        VaultStatus(
            state: locked.withLock { $0 } ? .locked : .unlocked,
            vaultID: "00ff",
            epoch: 1,
            slots: [
                keyFile.withLock { $0 == nil }
                    ? SlotDescription(index: 0, kind: .passphrase, detail: "", source: .passphrase)
                    : SlotDescription(index: 0, kind: .keyFile, detail: "", source: .keyFile(path: nil))
            ]
        )
    }

    func loadSessions() -> StoreContents {
        let found = disk.records.map { name, snapshot in
            let loaded = LoadedSession(name: name, snapshot: reseal(snapshot, of: name), interrupted: false)
            return StoredSession(name: name, content: .record(loaded))
        }
        return StoreContents(
            sessions: found + lost.withLock { $0 },
            lossOfUnknownSessions: loss.withLock { $0 }
        )
    }

    /// The vault has other names for the same secrets after it was locked.
    private func reseal(_ snapshot: SessionSnapshot, of name: SessionName) -> SessionSnapshot {
        let bytes = sealed.withLock { $0[name] ?? [:] }
        var snapshot = snapshot
        for (variant, token) in snapshot.tokens {
            snapshot.tokens[variant]?.secret = seal(bytes[token.secret] ?? [], as: .accessToken)
        }
        if case .refreshToken(let id) = snapshot.renewal {
            snapshot.renewal = .refreshToken(seal(bytes[id] ?? [], as: .refreshToken))
        }
        return snapshot
    }

    private func seal(_ bytes: [UInt8], as kind: SecretKind) -> SecretID {
        (try? bytes.withUnsafeBytes { try memory.seal($0, as: kind) }) ?? SecretID(rawValue: 0)
    }

    func lock() {
        locked.withLock { $0 = true }
        memory.lock()
    }

    func unlock(passphrase: [UInt8]?) throws(StoreAccessError) {
        guard let passphrase else {
            guard let file = keyFile.withLock({ $0 }) else { throw .passphraseNeeded }
            try file.read()
            return locked.withLock { $0 = false }
        }
        guard passphrase == Array(self.passphrase.utf8) else { throw .wrongKey() }
        try? memory.unlock()
        locked.withLock { $0 = false }
    }

    func initialize(_ slot: SlotRequest, _ proof: VaultProof) throws(StoreAccessError) {
        try check(proof)
        throw .notPossible("sessions are stored")
    }

    func addSlot(_ slot: SlotRequest, _ proof: VaultProof) throws(StoreAccessError) { try check(proof) }

    func removeSlot(_ index: Int, _ proof: VaultProof) throws(StoreAccessError) {
        try check(proof)
        throw .notPossible("slot \(index) is the last")
    }

    func changePassphrase(from old: [UInt8], to new: [UInt8]) throws(StoreAccessError) {
        try check(.passphrase(old))
    }

    func rekey(_ proof: VaultProof) throws(StoreAccessError) {
        try check(proof)
        throw .failed("no room left on the device")
    }

    private func check(_ proof: VaultProof) throws(StoreAccessError) {
        tried.withLock { $0 += 1 }
        switch proof {
        case .confirmed: return
        case .key(let bytes): if bytes == [0x6B, 0x65, 0x79] { return }
        case .passphrase(let bytes):
            slowness.withLock { $0 }?.wait()
            if bytes == Array(passphrase.utf8) { return }
        }
        throw .wrongKey()
    }
}

/// A key file on a slow disk.
final class KeyFile: Sendable {
    private let state = Mutex((error: StoreAccessError?.none, reads: 0))
    private let arrival = DispatchSemaphore(value: 0)

    /// The number of times it has been read, or is being read.
    var reads: Int { state.withLock { $0.reads } }

    /// Lets it be read; it opens the store if it is the right one.
    func arrive(right: Bool) {
        arrive(right ? nil : .wrongKey())
    }

    /// Lets it be read, with this error.
    func arrive(_ error: StoreAccessError?) {
        state.withLock { $0.error = error }
        arrival.signal()
    }

    fileprivate func read() throws(StoreAccessError) {
        state.withLock { $0.reads += 1 }
        arrival.wait()
        if let error = state.withLock({ $0.error }) { throw error }
    }
}
