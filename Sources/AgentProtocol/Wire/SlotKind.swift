// SPDX-License-Identifier: MIT

/// An unlock method of the store, as `GET /v1/vault` names it.
package enum SlotKind: String, CaseIterable, Sendable {
    case passphrase
    case keyFile = "keyfile"
    case command
    case systemdCredential = "systemd-cred"
    case secretService = "secret-service"
    case keychain
    /// The previous master key, while records sealed under it remain.
    case previousKey = "previous-key"

    /// The kinds that a request can add.
    ///
    /// The others are created automatically.
    package static let requested: [SlotKind] = [.passphrase, .keyFile, .command, .systemdCredential]

    /// Whether the method opens the store without the user.
    package var opensByItself: Bool { self != .passphrase && self != .previousKey }
}

/// The proof that a change of the unlock methods requires, as in `GET /v1/vault`.
package enum RequiredVaultProof: String, CaseIterable, Sendable {
    /// The store has a passphrase: the proof is the passphrase, or the secret of another slot.
    case passphrase
    /// No slot has a passphrase, and the user can be prompted.
    case confirm
    /// The content of a key file.
    case keyFile = "keyfile"
    /// The output of a command or a credential.
    case key
}
