// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// The proof that a peer may open the store, required to change the unlock methods.
package enum VaultProof: Equatable, Sendable {
    /// The user has agreed.
    case confirmed
    case passphrase([UInt8])
    /// The content of a key file, or the output of a command or a credential.
    case key([UInt8])
}

extension VaultProof {
    /// Creates the proof in `body`, or `nil` if it has none.
    ///
    /// - Throws: ``RequestFailure`` if the proof is malformed.
    init?(_ body: RequestBody<some ProvingMembers>) throws(RequestFailure) {
        if let passphrase = try body.value(\.unlockPassphrase) {
            self = .passphrase(Array(passphrase.utf8))
        } else if let digits = try body.value(\.unlockKey) {
            guard let key = Hex.decoded(digits.utf8) else {
                throw RequestFailure(
                    code: .badRequest,
                    message: "unlock_key is hexadecimal digits, two a byte."
                )
            }
            self = .key(key)
        } else {
            return nil
        }
    }
}

extension RequiredVaultProof {
    init(_ status: VaultStatus, canAskPerson: Bool) {
        if status.slots.contains(where: { $0.kind == .passphrase }) {
            self = .passphrase
        } else if canAskPerson {
            self = .confirm
        } else {
            self = status.slots.contains { $0.kind == .keyFile } ? .keyFile : .key
        }
    }

    /// The failure of a request without a proof.
    var refusal: RequestFailure {
        let (what, remedy) =
            switch self {
            case .passphrase:
                ("the passphrase of the store", "give it as unlock_passphrase; tokenctl vault asks")
            case .confirm: ("somebody who confirms it", "try again")
            case .keyFile:
                ("the content of the key file", "give it as unlock_key; tokenctl vault reads the file")
            case .key:
                (
                    "what the command or credential delivers",
                    "give it with tokenctl vault --key-file, or set hooks.confirm so that a person can be asked"
                )
            }
        return RequestFailure(
            code: .denied,
            message: "Only somebody who can open the store may change how it opens: this needs \(what).",
            remedy: remedy
        )
    }
}
