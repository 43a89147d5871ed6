// SPDX-License-Identifier: MIT

import TokenCore

/// The sealed store as a whole: what is in it, and how it is locked and unlocked.
///
/// Every call may block, on `fsync` or on a deliberately slow key derivation.
package protocol StoreControlling: SessionStoring {
    /// How the store stands now.
    func vaultStatus() -> VaultStatus
    /// Reads every stored session, sealing its secrets into the vault; recovers what a crash left behind.
    func loadSessions() -> [StoredSession]
    /// What became of records of which nobody can tell whose they were, found when the store was opened: a sentence
    /// for whoever misses a session; `nil`: there are none.
    func lossOfUnknownSessions() -> String?
    /// Wipes the keys of the store and of the vault.
    func lock()
    /// Opens the store again.
    ///
    /// - Parameter passphrase: `nil`: with whatever needs no person (key file, command, credential).
    /// - Throws: ``StoreRefusal``.
    func unlock(passphrase: [UInt8]?) throws(StoreRefusal)
    /// Replaces the slot made at first start; only while no session is stored.
    func initialize(_ slot: SlotRequest) throws(StoreRefusal)
    /// Adds a way to unlock.
    func addSlot(_ slot: SlotRequest) throws(StoreRefusal)
    /// Removes a way to unlock, never the last.
    func removeSlot(_ index: Int) throws(StoreRefusal)
    func changePassphrase(from old: [UInt8], to new: [UInt8]) throws(StoreRefusal)
    /// Seals everything under a new master key.
    ///
    /// - Parameter passphrase: the one of the passphrase slot, when there is one.
    /// - Throws: ``StoreRefusal``.
    func rekey(passphrase: [UInt8]?) throws(StoreRefusal)
}

/// A session found in the store.
package struct StoredSession: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        /// - interrupted: an intent to refresh without its end was found.
        case record(SessionSnapshot, interrupted: Bool)
        /// The record can not be used; it has been kept aside.
        case lost(EndReason, message: String)
    }

    package var name: SessionName
    package var content: Content

    package init(name: SessionName, content: Content) {
        self.name = name
        self.content = content
    }
}

/// How the store stands, for people and programs.
package struct VaultStatus: Equatable, Sendable {
    package enum State: String, Sendable {
        case uninitialized
        case locked
        case unlocked
    }

    /// One way to unlock.
    package struct Slot: Equatable, Sendable {
        package var index: Int
        package var type: String
        /// For a person: a path, a command's name; no secret.
        package var detail: String

        /// Whether it needs no person.
        var opensByItself: Bool { type != "passphrase" && type != "previous-key" }

        package init(index: Int, type: String, detail: String) {
            self.index = index
            self.type = type
            self.detail = detail
        }
    }

    package var state: State
    /// Hexadecimal; `nil` while uninitialized.
    package var vaultID: String?
    package var epoch: Int
    package var slots: [Slot]

    /// Whether some way to unlock needs no person.
    var opensByItself: Bool { slots.contains(where: \.opensByItself) }

    /// Whether something other than a key file may have to deliver the key.
    var needsCommand: Bool { slots.contains { $0.opensByItself && $0.type != "keyfile" } }

    package init(state: State, vaultID: String?, epoch: Int, slots: [Slot]) {
        self.state = state
        self.vaultID = vaultID
        self.epoch = epoch
        self.slots = slots
    }
}

/// A way to unlock that is to be set up.
package enum SlotRequest: Equatable, Sendable {
    case passphrase([UInt8])
    /// `nil`: the default key file.
    case keyFile(path: String?)
    case command([String])
    case systemdCredential(name: String?)
}

/// Why the store did not do what was asked.
package enum StoreRefusal: Error, Equatable, Sendable {
    /// The passphrase, key or command output does not open the store.
    case wrongKey
    /// A person has to give the passphrase.
    case passphraseNeeded
    /// The request makes no sense for the store as it stands: a sentence for the person.
    case notPossible(String)
    /// The disk or the system refused: a sentence for the person.
    case failed(String)
}
