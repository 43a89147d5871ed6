// SPDX-License-Identifier: MIT

/// A way to unlock the store, as `GET /v1/vault` names it.
package enum SlotKind: String, CaseIterable, Sendable {
    case passphrase
    case keyFile = "keyfile"
    case command
    case systemdCredential = "systemd-cred"
    case secretService = "secret-service"
    case keychain
    /// The previous master key, while records sealed under it remain.
    case previousKey = "previous-key"

    /// Those that a request can ask for; the others come about by themselves.
    package static let requested: [SlotKind] = [.passphrase, .keyFile, .command, .systemdCredential]

    /// Whether it opens the store without a person.
    package var opensByItself: Bool { self != .passphrase && self != .previousKey }
}

/// The proof that a change of the vault asks for, as `GET /v1/vault` says it.
package enum RequiredVaultProof: String, CaseIterable, Sendable {
    /// The store has a passphrase: the proof is the passphrase, or the secret of another slot.
    case passphrase
    /// No slot has a passphrase, and a person can be asked.
    case confirm
    /// The content of a key file.
    case keyFile = "keyfile"
    /// What a command or a credential delivers.
    case key
}
