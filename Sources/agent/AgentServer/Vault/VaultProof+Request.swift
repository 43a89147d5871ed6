// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

extension VaultProof {
    /// Creates the proof in `body`, or `nil` if it has none.
    ///
    /// - Throws: ``RequestFailure`` if the proof is malformed.
    init?(_ body: ParsedRequestBody<some UnlockProofMembers>) throws(RequestFailure) {
        if let passphrase = try body.value(\.unlockPassphrase) {
            self = .passphrase(Array(passphrase.utf8))
        } else if let digits = try body.value(\.unlockKey) {
            guard let key = Hex.decoded(digits.utf8) else {
                throw RequestFailure(
                    code: .badRequest,
                    message: "unlock_key must be pairs of hexadecimal digits"
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
        let (what, remedy): (String, Remedy) =
            switch self {
            case .passphrase: ("the store's passphrase", .set("unlock_passphrase"))
            case .confirm: ("the user's confirmation", .retry("now"))
            case .keyFile: ("the content of the key file", .set("unlock_key"))
            case .key:
                (
                    "the output of \(SlotKind.alternatives { $0.isExternal ? "the \($0.traits.noun)" : nil })",
                    .set("--key-file or hooks.confirm")
                )
            }
        return RequestFailure(
            code: .denied,
            message: "a change of the unlock methods requires \(what)",
            remedy: remedy
        )
    }
}
