// SPDX-License-Identifier: MIT

import AgentProtocol
import SealedStore
import Text
import TokenCore

/// The sealed store: its contents, locking and unlocking.
///
/// Every call may block, on `fsync` or on a deliberately slow key derivation.
package protocol StoreControlling: SessionStoring {
    /// Returns the current state of the store.
    func vaultStatus() -> VaultStatus
    /// Reads every stored session, seals its secrets in memory, and recovers after a crash.
    func loadSessions() -> StoreContents
    /// Erases the keys of the store and of the sealed memory.
    func lock()
    /// Unlocks the store.
    ///
    /// - Parameter passphrase: The passphrase, or `nil` to use the methods that do not need the user (key
    ///   file, command, credential).
    /// - Throws: ``StoreAccessError``.
    func unlock(passphrase: [UInt8]?) throws(StoreAccessError)
    /// Replaces the slot created at the first start; only possible while no session is stored.
    ///
    /// If the proof is wrong, this and all following methods throw ``StoreAccessError/wrongKey`` and change
    /// nothing.
    func initialize(_ slot: SlotRequest, _ proof: VaultProof) throws(StoreAccessError)
    /// Adds an unlock method.
    func addSlot(_ slot: SlotRequest, _ proof: VaultProof) throws(StoreAccessError)
    /// Removes an unlock method, but never the last one.
    func removeSlot(_ index: Int, _ proof: VaultProof) throws(StoreAccessError)
    func changePassphrase(from old: [UInt8], to new: [UInt8]) throws(StoreAccessError)
    /// Seals everything with a new master key.
    ///
    /// - Parameter proof: The unlock proof, with the passphrase of the passphrase slot if there is one.
    /// - Throws: ``StoreAccessError``.
    func rekey(_ proof: VaultProof) throws(StoreAccessError)
}

/// The contents of the store.
package struct StoreContents: Sendable {
    private let contents: [SessionName: StoredSession.Content]
    /// An explanation for the user about records whose session is unknown, or `nil` if there are none.
    private let lossOfUnknownSessions: String?

    /// Creates the contents; if two entries are about the same session, the first one counts.
    package init(sessions: [StoredSession], lossOfUnknownSessions: String? = nil) {
        var contents: [SessionName: StoredSession.Content] = [:]
        contents.reserveCapacity(sessions.count)
        for session in sessions where contents.index(forKey: session.name) == nil {
            contents[session.name] = session.content
        }
        self.contents = contents
        self.lossOfUnknownSessions = lossOfUnknownSessions
    }

    /// Returns the content of a session, or `nil` if there is none.
    ///
    /// A missing session counts as lost if there are records whose session is unknown.
    func content(of name: SessionName) -> StoredSession.Content? {
        contents[name] ?? lossOfUnknownSessions.map { .lost(.recordUnreadable, message: $0) }
    }

    /// Returns the secrets of the sessions that are not wanted.
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
    /// The session's record, or the reason for its loss.
    package enum Content: Sendable {
        case record(LoadedSession)
        /// The record cannot be used; a copy of it has been kept.
        case lost(EndReason, message: String)
    }

    package var name: SessionName
    package var content: Content

    package init(name: SessionName, content: Content) {
        self.name = name
        self.content = content
    }
}

/// The state of the store, for the user and programs.
package struct VaultStatus: Equatable, Sendable {
    package var state: StoreState
    /// The identifier in hexadecimal, or `nil` while the store is uninitialized.
    package var vaultID: String?
    package var epoch: Int
    package var slots: [SlotDescription]

    /// Whether one of the unlock methods does not need the user.
    var opensByItself: Bool { slots.contains(where: \.kind.opensByItself) }

    /// Whether a method other than a key file may unlock the store without the user.
    var needsCommand: Bool { slots.contains { $0.kind.isExternal } }

    package init(state: StoreState, vaultID: String?, epoch: Int, slots: [SlotDescription]) {
        self.state = state
        self.vaultID = vaultID
        self.epoch = epoch
        self.slots = slots
    }
}

/// The changes of unlock methods, as named in events and in the log.
enum VaultChangeKind: String {
    case made
    case slotAdded = "slot_added"
    case slotRemoved = "slot_removed"
    case passphraseChanged = "passphrase_changed"
    case rekeyed
}

/// An unlock method to be added.
package enum SlotRequest: Equatable, Sendable {
    case passphrase([UInt8])
    /// A key file; `nil` is the default path.
    case keyFile(path: String?)
    /// A secret from outside of the agent; `name` is what the slot stores.
    case external(SlotKind, name: String)
}

/// The reason the store did not do what was requested.
package enum StoreAccessError: Error, Equatable, Sendable {
    /// The passphrase, key or command output does not open the store; the text is a clause for the user.
    case wrongKey(
        String = "wrong passphrase or key",
        remedy: Remedy? = .see("unlock in tokenctl(1)")
    )
    /// The user must enter the passphrase.
    case passphraseNeeded
    /// The unlock method without the user failed, and the passphrase is another one; the text is a clause for
    /// the user.
    ///
    /// If it `mayPass`, the method may work later, such as a command that needs a keyring.
    case passphraseLeft(String, remedy: Remedy?, mayPass: Bool = false)
    /// Too many unlock attempts are pending.
    case busy(retryAfter: Duration)
    /// The store's current state does not permit the request; the text is a clause for the user.
    ///
    /// If it `mayPass`, the same may work later.
    case notPossible(String, remedy: Remedy? = nil, mayPass: Bool = false)
    /// The disk, the system or an unlock method reported an error; the text is a clause for the user.
    ///
    /// If it `mayPass`, the same may work later.
    case failed(String, remedy: Remedy? = nil, mayPass: Bool = false)

    /// Whether unlocking without the user may work later, although nothing is changed.
    var mayPass: Bool {
        switch self {
        case .passphraseLeft(_, _, let mayPass), .failed(_, _, let mayPass), .notPossible(_, _, let mayPass):
            mayPass
        case .wrongKey, .passphraseNeeded, .busy: false
        }
    }
}
