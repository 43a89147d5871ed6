// SPDX-License-Identifier: MIT

extension SlotKind: WireValue {}
extension RequiredVaultProof: WireValue {}

/// The response of `GET /v1/vault`, and of each request that changes the unlock methods.
package typealias VaultMessage = WireMessage<VaultMembers>

package struct VaultMembers: WireMemberTable {
    package let state = WireMember<String>("state")
    package let vaultID = WireMember<String>("vault_id", isOptional: true)
    package let epoch = WireMember<Int64>("epoch")
    package let slots = WireMember<[SlotMessage]>("slots")
    package let proof = WireMember<RequiredVaultProof>("proof")

    package static let table = Self()
}

/// An unlock method of the store.
package typealias SlotMessage = WireMessage<SlotMembers>

package struct SlotMembers: WireMemberTable {
    package let index = WireMember<Int64>("index")
    package let type = WireMember<SlotKind>("type")
    package let detail = WireMember<String>("detail")
    package let madeAt = WireMember<Int64>("made_at", .time, isOptional: true)

    package static let table = Self()
}

/// The body of a request that changes the unlock methods, with the secret of a slot as proof.
package protocol UnlockProofMembers: WireMemberTable {
    /// The passphrase of a slot.
    var unlockPassphrase: WireMember<String> { get }
    /// The key of a slot, in hexadecimal digits.
    var unlockKey: WireMember<String> { get }
}

/// The body of `DELETE /v1/vault/slots/N`.
package struct SlotRemovalRequestMembers: UnlockProofMembers {
    package let unlockPassphrase = WireMember<String>("unlock_passphrase", isOptional: true)
    package let unlockKey = WireMember<String>("unlock_key", isOptional: true)

    package static let table = Self()
}

/// The body of `POST /v1/vault/passwd`.
package struct PassphraseChangeRequestMembers: WireMemberTable {
    package let old = WireMember<String>("old")
    package let new = WireMember<String>("new")

    package static let table = Self()
}

/// The body of `POST /v1/vault/rekey`.
package struct RekeyRequestMembers: UnlockProofMembers {
    package let unlockPassphrase = WireMember<String>("passphrase", isOptional: true)
    package let unlockKey = WireMember<String>("unlock_key", isOptional: true)

    package static let table = Self()
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
