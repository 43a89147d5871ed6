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
package struct SlotRemovalMembers: UnlockProofMembers {
    package let unlockPassphrase = WireMember<String>("unlock_passphrase", isOptional: true)
    package let unlockKey = WireMember<String>("unlock_key", isOptional: true)

    package static let table = Self()
}

/// The body of `POST /v1/vault/init` and `POST /v1/vault/slots`.
package struct SlotAdditionMembers: UnlockProofMembers {
    /// The type of the slot, one of ``SlotKind/requested``.
    package let type = WireMember<String>("type")
    package let passphrase = WireMember<String>("passphrase", isOptional: true)
    package let path = WireMember<String>("path", isOptional: true)
    package let command = WireMember<[String]>("command", isOptional: true)
    package let credential = WireMember<String>("credential", isOptional: true)
    package let unlockPassphrase = SlotRemovalMembers.table.unlockPassphrase
    package let unlockKey = SlotRemovalMembers.table.unlockKey

    package static let table = Self()
}

/// The body of `POST /v1/vault/passwd`.
package struct PassphraseChangeMembers: WireMemberTable {
    package let old = WireMember<String>("old")
    package let new = WireMember<String>("new")

    package static let table = Self()
}

/// The body of `POST /v1/vault/rekey`.
package struct RekeyMembers: UnlockProofMembers {
    package let unlockPassphrase = WireMember<String>("passphrase", isOptional: true)
    package let unlockKey = WireMember<String>("unlock_key", isOptional: true)

    package static let table = Self()
}
