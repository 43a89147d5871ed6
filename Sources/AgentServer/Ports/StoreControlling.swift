// SPDX-License-Identifier: MIT

import AgentProtocol
import SealedStore
import TokenCore

/// The sealed store as a whole: what is in it, and how it is locked and unlocked.
///
/// Every call may block, on `fsync` or on a deliberately slow key derivation.
package protocol StoreControlling: SessionStoring {
    /// The state of the store now.
    func vaultStatus() -> VaultStatus
    /// Reads every stored session, sealing its secrets into the vault; recovers what a crash left behind.
    func loadSessions() -> StoreContents
    /// Wipes the keys of the store and of the vault.
    func lock()
    /// Opens the store again.
    ///
    /// - Parameter passphrase: `nil` to use whatever needs no person (key file, command, credential).
    /// - Throws: ``StoreAccessError``.
    func unlock(passphrase: [UInt8]?) throws(StoreAccessError)
    /// Replaces the slot made at first start; only while no session is stored.
    ///
    /// If the proof opens nothing, this and all below throw ``StoreAccessError/wrongKey`` and do nothing.
    func initialize(_ slot: SlotRequest, _ proof: VaultProof) throws(StoreAccessError)
    /// Adds a way to unlock.
    func addSlot(_ slot: SlotRequest, _ proof: VaultProof) throws(StoreAccessError)
    /// Removes a way to unlock, never the last.
    func removeSlot(_ index: Int, _ proof: VaultProof) throws(StoreAccessError)
    func changePassphrase(from old: [UInt8], to new: [UInt8]) throws(StoreAccessError)
    /// Seals everything under a new master key.
    ///
    /// - Parameter proof: has the passphrase of the passphrase slot, when there is one.
    /// - Throws: ``StoreAccessError``.
    func rekey(_ proof: VaultProof) throws(StoreAccessError)
}

/// What is in the store.
package struct StoreContents: Sendable {
    private let contents: [SessionName: StoredSession.Content]
    /// What became of records whose session nobody can tell: a sentence for a person who misses a session;
    /// `nil` if there are none.
    private let lossOfUnknownSessions: String?

    /// If two entries are about one session, the first counts.
    package init(sessions: [StoredSession], lossOfUnknownSessions: String? = nil) {
        var contents: [SessionName: StoredSession.Content] = [:]
        contents.reserveCapacity(sessions.count)
        for session in sessions where contents.index(forKey: session.name) == nil {
            contents[session.name] = session.content
        }
        self.contents = contents
        self.lossOfUnknownSessions = lossOfUnknownSessions
    }

    /// What the store has of a session; `nil` if nothing.
    ///
    /// A missing session counts as lost if there are records whose session nobody can tell.
    func content(of name: SessionName) -> StoredSession.Content? {
        contents[name] ?? lossOfUnknownSessions.map { .lost(.recordUnreadable, message: $0) }
    }

    /// The secrets of the sessions that are not wanted.
    func secrets(unless isWanted: (SessionName) -> Bool) -> Set<SecretID> {
        var found: Set<SecretID> = []
        for case (let name, .record(let loaded)) in contents where !isWanted(name) {
            found.formUnion(loaded.snapshot.secrets)
        }
        return found
    }
}

/// A session found in the store.
package struct StoredSession: Sendable {
    package enum Content: Sendable {
        case record(LoadedSession)
        /// The record cannot be used; it has been kept aside.
        case lost(EndReason, message: String)
    }

    package var name: SessionName
    package var content: Content

    package init(name: SessionName, content: Content) {
        self.name = name
        self.content = content
    }
}

/// The state of the store, for people and programs.
package struct VaultStatus: Equatable, Sendable {
    package enum State: String, Sendable {
        case uninitialized
        case locked
        case unlocked
    }

    /// One way to unlock.
    package struct Slot: Equatable, Sendable {
        package var index: Int
        package var kind: SlotKind
        /// For a person: a path, a command's name; no secret.
        package var detail: String
        /// `nil` if a version that did not note it made the slot.
        package var madeAt: WallTime?

        package init(index: Int, kind: SlotKind, detail: String, madeAt: WallTime? = nil) {
            self.index = index
            self.kind = kind
            self.detail = detail
            self.madeAt = madeAt
        }
    }

    package var state: State
    /// Hexadecimal; `nil` while uninitialized.
    package var vaultID: String?
    package var epoch: Int
    package var slots: [Slot]

    /// Whether one of the ways to unlock needs no person.
    var opensByItself: Bool { slots.contains(where: \.kind.opensByItself) }

    /// Whether something other than a key file may have to deliver the key.
    var needsCommand: Bool { slots.contains { $0.kind.opensByItself && $0.kind != .keyFile } }

    package init(state: State, vaultID: String?, epoch: Int, slots: [Slot]) {
        self.state = state
        self.vaultID = vaultID
        self.epoch = epoch
        self.slots = slots
    }
}

/// A change of how the store opens, as events and the log name it.
enum VaultChangeKind: String {
    case made
    case slotAdded = "slot_added"
    case slotRemoved = "slot_removed"
    case passphraseChanged = "passphrase_changed"
    case rekeyed
}

/// A way to unlock that is to be set up.
package enum SlotRequest: Equatable, Sendable {
    case passphrase([UInt8])
    /// `nil` for the default key file.
    case keyFile(path: String?)
    case command([String])
    case systemdCredential(name: String?)
}

/// Why the store did not do what was asked.
package enum StoreAccessError: Error, Equatable, Sendable {
    /// The passphrase, key or command output does not open the store.
    case wrongKey
    /// A person has to give the passphrase.
    case passphraseNeeded
    /// Too many guesses wait already.
    case busy(retryAfter: Duration)
    /// The request makes no sense for the store as it stands: a sentence for the person.
    case notPossible(String)
    /// The disk or the system refused: a sentence for the person.
    case failed(String)
}
