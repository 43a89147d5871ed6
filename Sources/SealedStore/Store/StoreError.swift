// SPDX-License-Identifier: MIT

/// The reason the sealed store cannot be used, each with a description and a remedy.
package enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    // The directory
    /// Another agent holds the store; `pid` is its process ID, if it could be read.
    case heldByAnother(path: String, pid: Int32?)
    /// Other users could change or read a directory or file.
    case unsafe(path: String, reason: String)
    /// The directory is on a file system with unreliable locks and flushes.
    case networkFileSystem(path: String)
    /// A system call failed.
    case unavailable(path: String, reason: String)

    // The vault file
    /// There is no vault yet.
    case notInitialized
    /// There is already a vault.
    case alreadyInitialized
    /// The file was written by a newer version; nothing was changed.
    case futureVersion(path: String, version: Int)
    /// The file is not a vault file, or was truncated or changed.
    case damagedVault(path: String, reason: String)
    /// A passphrase slot requires less or more work than any version writes.
    case unacceptableCost(path: String)

    // Unlocking
    /// The keys are not in memory.
    case locked
    /// A user or a command must provide the secret.
    case secretNeeded
    case wrongPassphrase
    /// The given secret opens no slot.
    case wrongSecret
    case emptyPassphrase
    case keyFileMissing(path: String)
    case keyFileUnusable(path: String, reason: String)
    /// The key file exists but opens no slot.
    case wrongKeyFile(path: String)
    /// The secret of a command or credential opens no slot.
    case wrongExternalSecret(source: String)
    /// A command or credential delivered nothing.
    case noExternalSecret(ExternalProvider, name: String, reason: String)

    // The counter that reveals an old copy of the whole store
    /// The manifest has an earlier value than the counter.
    case olderCopy(stored: UInt64, counter: UInt64)
    /// The counter is behind the store.
    case otherCounter(stored: UInt64, counter: UInt64)
    /// The store has a counter, but the configuration names none.
    case counterNotConfigured(stored: UInt64)
    /// The store has no counter value, but the counter has moved before.
    case unknownAge(path: String, counter: UInt64)
    /// The counter gave no usable response.
    case counterUnusable(reason: String)

    // Slots
    case noSuchSlot(Int)
    case lastSlot
    case tooManySlots
    /// The path, name or command of a slot is longer than `limit` bytes.
    case slotTooLarge(limit: Int)
    /// A new master key must be wrapped for this slot, whose secret was not given.
    case slotSecretNeeded(Int)
    /// Sessions are stored, which a new vault would lose.
    case sessionsStored
    case outOfMemory

    /// A description of the error.
    package var description: String {
        switch self {
        case .heldByAnother(let path, let pid):
            "another agent\(pid.map { " (process \($0))" } ?? "") uses \(path)"
        case .unsafe(let path, let reason): "\(path) is not safe to use: \(reason)"
        case .networkFileSystem(let path): "\(path) is on a network file system"
        case .unavailable(let path, let reason): "\(path): \(reason)"
        case .notInitialized: "the store has no vault yet"
        case .alreadyInitialized: "the store has a vault already"
        case .futureVersion(let path, let version):
            "\(path) has format version \(version), newer than this program"
        case .damagedVault(let path, let reason): "\(path) is damaged: \(reason)"
        case .unacceptableCost(let path): "\(path) asks for more or less work than any version writes"
        case .locked: "the store is locked"
        case .secretNeeded: "no slot of the vault opens without a person"
        case .wrongPassphrase: "the passphrase is wrong"
        case .wrongSecret: "what was given opens no slot of the vault"
        case .emptyPassphrase: "the passphrase is empty"
        case .keyFileMissing(let path): "the key file \(path) is missing"
        case .keyFileUnusable(let path, let reason): "the key file \(path) cannot be used: \(reason)"
        case .wrongKeyFile(let path): "the key file \(path) does not open this vault"
        case .wrongExternalSecret(let source): "what \(source) delivered does not open this vault"
        case .noExternalSecret(let provider, let name, let reason):
            "the \(provider.word) \(name) delivered no key: \(reason)"
        case .olderCopy(let stored, let counter):
            "the store is an older copy: it says \(stored), the counter \(counter)"
        case .otherCounter(let stored, let counter):
            "the counter is another one or was reset: the store says \(stored), the counter \(counter)"
        case .counterNotConfigured(let stored):
            "the store has a counter, at \(stored), and vault.rollback_counter is not set"
        case .unknownAge(let path, let counter):
            "\(path) has no value of the counter, which says \(counter): the store may be an older copy"
        case .counterUnusable(let reason): "the counter that reveals old copies of the store: \(reason)"
        case .noSuchSlot(let index): "the vault has no slot \(index)"
        case .lastSlot: "this is the last slot that opens the vault"
        case .tooManySlots: "the vault has no free slot"
        case .slotTooLarge(let limit): "a slot's path, name or command has more than \(limit) bytes"
        case .slotSecretNeeded(let index): "the secret of slot \(index) is needed"
        case .sessionsStored: "the store holds sessions"
        case .outOfMemory: "the system refused memory for keys"
        }
    }

    /// The description with the remedy.
    package var advice: String { remedy.map { "\(self); \($0)" } ?? description }

    /// The remedy, or `nil` for errors that no command prints.
    ///
    /// The agent creates the vault, and itself reports that a secret does not open the store.
    package var remedy: String? {
        switch self {
        case .heldByAnother: "use that agent, or stop it with `tokenagent -k`"
        case .unsafe:
            "make it yours alone (chown, chmod go-rwx), or choose another directory with --state-dir"
        case .networkFileSystem:
            "choose a local directory with --state-dir, or allow it with --allow-network-store"
        case .unavailable: "free the disk or correct its permissions, then start again"
        case .notInitialized, .alreadyInitialized, .wrongSecret: nil
        case .futureVersion: "install the newer version again; nothing was changed"
        case .damagedVault:
            "restore the vault file from a backup, or move the directory away and log in again"
        case .unacceptableCost: "restore the vault file from a backup: this one was tampered with"
        case .locked, .secretNeeded: "run `tokenctl unlock`"
        case .wrongPassphrase: "try again"
        case .emptyPassphrase: "give at least one character"
        case .keyFileMissing: "put the key file back, or unlock with another slot: `tokenctl unlock`"
        case .keyFileUnusable: "make it a file of your own with mode 0600 and at least 32 random bytes"
        case .wrongKeyFile: "put the original key file back, or unlock with another slot: `tokenctl unlock`"
        case .wrongExternalSecret: "correct the credential or command, or run `tokenctl unlock`"
        case .noExternalSecret(.systemdCredential, _, _):
            "let the agent's unit hand it over (LoadCredentialEncrypted=), then restart the agent"
        case .noExternalSecret: "correct it, or use another way to unlock"
        case .olderCopy(_, let counter):
            "put the latest store back; if this is it, set vault.rollback_counter_accept = \(counter) and start again"
        case .otherCounter(_, let counter):
            "name the right counter; if this is it, set vault.rollback_counter_accept = \(counter) and start again"
        case .counterNotConfigured(let stored):
            "set it; to go on without a counter, set vault.rollback_counter_accept = \(stored) and start again"
        case .unknownAge(_, let counter):
            "if it is the latest store, set vault.rollback_counter_accept = \(counter) and start again"
        case .counterUnusable: "correct the program of vault.rollback_counter, then run `tokenctl unlock`"
        case .noSuchSlot: "list them with `tokenctl vault slots`"
        case .lastSlot: "add another slot first"
        case .tooManySlots: "remove a slot first"
        case .slotTooLarge: "use a shorter one: a script of your own can do the rest"
        case .slotSecretNeeded: "give its secret as well, or remove the slot first"
        case .sessionsStored: "log out everywhere first (`tokenctl logout --all`), or add a slot instead"
        case .outOfMemory: "raise the memory limits (RLIMIT_MEMLOCK, MemoryMax)"
        }
    }
}
