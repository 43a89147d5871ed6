// SPDX-License-Identifier: MIT

/// A way to unlock the store, as `GET /v1/vault` names it.
package enum SlotKind: String, CaseIterable, Sendable {
    case passphrase
    case keyFile = "keyfile"
    case command
    case systemdCredential = "systemd-cred"
    case secretService = "secret-service"
    case keychain
    /// The master key before this one, while records under it remain.
    case previousKey = "previous-key"

    /// Those that can be asked for; the others come about by themselves.
    package static let requested: [SlotKind] = [.passphrase, .keyFile, .command, .systemdCredential]

    /// Whether it needs no person.
    package var opensByItself: Bool { self != .passphrase && self != .previousKey }
}

/// What a change of the vault asks for, as `GET /v1/vault` says it.
package enum VaultProofDemand: String, CaseIterable, Sendable {
    /// Somebody knows a passphrase: it, or the secret of another slot.
    case passphrase
    /// All slots open by themselves, and a person can be asked.
    case confirm
    /// The content of a key file.
    case keyFile = "keyfile"
    /// What a command or a credential delivers.
    case key
}
