// SPDX-License-Identifier: MIT

import AgentProtocol
import SecretMemory
import Text

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
    /// There are records of sessions, but no vault that opens them.
    case missingVault(path: String)
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
    /// A new passphrase, or what a new command or credential delivers in place of one, is too short.
    case passphraseTooShort(minimum: Int)
    case keyFileMissing(path: String)
    case keyFileUnusable(path: String, reason: String)
    /// The agent's sandbox, which is set up at its start, does not include the key file.
    case keyFileSandboxed(path: String)
    /// The agent's sandbox does not include the path of a new key file. It includes `directory`.
    case newKeyFileSandboxed(path: String, directory: String)
    /// The key file exists but opens no slot.
    case wrongKeyFile(path: String)
    /// The secret of a command or credential opens no slot.
    case wrongExternalSecret(source: String)
    /// A command or credential delivered nothing; `isFinal` if it will not later either, or reported a wrong PIN.
    case noExternalSecret(SlotKind, name: String, reason: String, remedy: Remedy, isFinal: Bool = false)

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

    /// Returns the result of `allocate`, or throws ``outOfMemory``.
    static func allocating<Value>(
        _ allocate: () throws(SealedMemoryError) -> Value
    ) throws(StoreError) -> Value {
        do throws(SealedMemoryError) {
            return try allocate()
        } catch {
            throw .outOfMemory
        }
    }

    /// A description of the error.
    package var description: String {
        switch self {
        case .heldByAnother(let path, let pid):
            "another agent\(pid.map { " (process \($0))" } ?? "") uses \(path)"
        case .unsafe(let path, let reason): "\(path) is not safe to use: \(reason)"
        case .networkFileSystem(let path): "\(path) is on a network file system"
        case .unavailable(let path, let reason): "\(path): \(reason)"
        case .notInitialized: "the store has no vault"
        case .alreadyInitialized: "the store already has a vault"
        case .futureVersion(let path, let version):
            "\(path) has format version \(version), newer than this program"
        case .damagedVault(let path, let reason): "\(path) is damaged: \(reason)"
        case .missingVault(let path):
            "\(path) is missing, and the stored sessions cannot be opened without it"
        case .unacceptableCost(let path): "\(path) has an invalid key derivation cost"
        case .locked: "the store is locked"
        case .secretNeeded: "no slot of the vault opens without the user"
        case .wrongPassphrase: "the passphrase is wrong"
        case .wrongSecret: "the given secret opens no slot of the vault"
        case .passphraseTooShort(let minimum):
            "the new passphrase or key has fewer than \(minimum) characters"
        case .keyFileMissing(let path): "the key file \(path) is missing"
        case .keyFileUnusable(let path, let reason): "the key file \(path) cannot be used: \(reason)"
        case .keyFileSandboxed(let path), .newKeyFileSandboxed(let path, _):
            "the key file \(path) is outside the agent's sandbox"
        case .wrongKeyFile(let path): "the key file \(path) does not open this vault"
        case .wrongExternalSecret(let source): "the secret from \(source) does not open this vault"
        case .noExternalSecret(let kind, let name, let reason, _, _):
            "the \(kind.traits.noun) \(name) delivered no key: \(reason)"
        case .olderCopy(let stored, let counter):
            "the store is an old copy: it is at \(stored), the counter at \(counter)"
        case .otherCounter(let stored, let counter):
            "wrong or reset counter: the store is at \(stored), the counter at \(counter)"
        case .counterNotConfigured(let stored):
            "the store has a counter (at \(stored)), but vault.rollback_counter is not set"
        case .unknownAge(let path, let counter):
            "\(path) has no counter value, and the counter is at \(counter): the store may be an old copy"
        case .counterUnusable(let reason): "cannot use the rollback counter: \(reason)"
        case .noSuchSlot(let index): "the vault has no slot \(index)"
        case .lastSlot: "this is the last slot that opens the vault"
        case .tooManySlots: "the vault has no free slot"
        case .slotTooLarge(let limit): "a slot's path, name or command has more than \(limit) bytes"
        case .slotSecretNeeded(let index): "the secret of slot \(index) is required"
        case .sessionsStored: "the store contains sessions"
        case .outOfMemory: "cannot allocate memory for keys"
        }
    }

    /// Whether the same may work later, although the user changes nothing: a program or a mounted file may be ready then.
    ///
    /// A wrong PIN is not tried again, because the third one locks a card.
    package var mayPass: Bool {
        switch self {
        case .noExternalSecret(_, _, _, _, let isFinal): !isFinal
        case .keyFileMissing: true
        default: false
        }
    }

    /// Whether the error is about one unlock method, so that another one may open the vault.
    package var isOfOneSlot: Bool {
        switch self {
        case .keyFileMissing, .keyFileUnusable, .keyFileSandboxed, .wrongKeyFile, .wrongExternalSecret,
            .noExternalSecret:
            true
        default: false
        }
    }

    /// The description with the remedy in parentheses, for places with one line.
    package var advice: String { remedy.map { "\(self) \($0.parenthesized)" } ?? description }

    /// The remedy, or `nil` for errors that no command prints.
    ///
    /// The agent creates the vault, and itself reports that a secret does not open the store.
    package var remedy: Remedy? {
        switch self {
        case .heldByAnother: .run("tokenagent -k")
        case .unsafe(let path, let reason) where reason.bytewise.hasPrefix("it is a symbolic link"):
            .retry("after replacing the link \(path) by what it leads to")
        case .unsafe(_, let reason) where reason.bytewise.hasPrefix("it is not a directory"):
            .set("--state-dir to a directory of your own")
        case .unsafe(let path, _):
            .set("the mode of \(path) to 0700, or --state-dir to a directory of your own")
        case .networkFileSystem: .set("--state-dir to a local directory, or --allow-network-store")
        case .unavailable: .retry("after freeing disk space or correcting permissions")
        case .notInitialized, .alreadyInitialized, .wrongSecret: nil
        case .futureVersion: .retry("with the newer version")
        case .damagedVault, .missingVault:
            .retry("after restoring the vault file from a backup, or moving the state directory away")
        case .unacceptableCost: .retry("after restoring the vault file from a backup")
        case .locked, .secretNeeded, .wrongPassphrase: .run("tokenctl unlock")
        case .passphraseTooShort(let minimum):
            .retry("with at least \(minimum) characters, such as some random words")
        case .keyFileMissing: .set("the key file back in its place, then run tokenctl unlock")
        case .keyFileUnusable:
            .retry("with a key file of your own with mode 0600 and at least 32 random bytes")
        case .keyFileSandboxed: .restart
        case .newKeyFileSandboxed(_, let directory):
            .setAndRestart(
                "--path to a file in \(directory), or keyfile in [vault] to an existing file"
            )
        case .wrongExternalSecret(let source):
            .set("\(source) back to what delivers this vault's key, then run tokenctl unlock")
        case .wrongKeyFile: .set("the original key file back in its place, then run tokenctl unlock")
        case .noExternalSecret(_, _, _, let remedy, _): remedy
        case .olderCopy(_, let counter):
            .setAndRestart(
                "vault.rollback_counter_accept = \(counter) if no later copy of the store exists"
            )
        case .otherCounter(_, let counter):
            .setAndRestart(
                "vault.rollback_counter to the command for this store's counter, or vault.rollback_counter_accept = \(counter) if that counter was reset"
            )
        case .counterNotConfigured(let stored):
            .setAndRestart(
                "vault.rollback_counter, or vault.rollback_counter_accept = \(stored) to go on without it"
            )
        case .unknownAge(_, let counter):
            .setAndRestart(
                "vault.rollback_counter_accept = \(counter) if this is the latest store"
            )
        case .counterUnusable:
            .set("vault.rollback_counter to a program that works, then run tokenctl unlock")
        case .noSuchSlot: .run("tokenctl vault slots")
        case .lastSlot: .retry("after adding another slot")
        case .tooManySlots: .retry("after removing a slot")
        case .slotTooLarge: .retry("with a shorter one, such as a script of your own")
        case .slotSecretNeeded(let index):
            .retry("with the secret of slot \(index), or after removing the slot")
        case .sessionsStored: .run("tokenctl vault slots add")
        case .outOfMemory:
            .setAndRestart(
                "ulimit -v, or LimitAS= in the unit, to a higher limit"
            )
        }
    }
}
