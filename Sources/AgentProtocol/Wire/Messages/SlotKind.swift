// SPDX-License-Identifier: MIT

/// An unlock method of the store, as `GET /v1/vault` names it.
package enum SlotKind: String, CaseIterable, Sendable {
    case passphrase
    case keyFile = "keyfile"
    case command
    case systemdCredential = "systemd-cred"

    /// The member of a request that describes a slot.
    package enum Argument {
        case secret(KeyPath<SlotAdditionRequestMembers, WireMember<String>>)
        case file(KeyPath<SlotAdditionRequestMembers, WireMember<String>>)
        /// The name of a secret outside of the agent.
        case name(KeyPath<SlotAdditionRequestMembers, WireMember<String>>, default: String)
        /// The words of a command that prints the secret.
        case command(KeyPath<SlotAdditionRequestMembers, WireMember<[String]>>)
    }

    /// The noun in messages, the noun in help texts, and what describes a slot in a request.
    package var traits: (noun: String, phrase: String, argument: Argument) {
        switch self {
        case .passphrase: ("passphrase", "a passphrase", .secret(\.passphrase))
        case .keyFile: ("key file", "a key file", .file(\.path))
        case .command: ("command", "a command", .command(\.command))
        case .systemdCredential:
            ("credential", "a systemd credential", .name(\.credential, default: "tokenagent"))
        }
    }

    /// Whether the method opens the store without the user.
    package var opensByItself: Bool { self != .passphrase }

    /// Whether the secret is neither the user's nor in a file of the store.
    package var isExternal: Bool { opensByItself && self != .keyFile }

    /// The methods as alternatives in a sentence: "a, b or c".
    package static func alternatives(_ word: (SlotKind) -> String?) -> String {
        let words = allCases.compactMap(word)
        return "\(words.dropLast().joined(separator: ", ")) or \(words.last ?? "")"
    }
}

/// The body of `POST /v1/vault/init` and `POST /v1/vault/slots`.
package struct SlotAdditionRequestMembers: UnlockProofMembers {
    /// The type of the slot, a ``SlotKind``.
    package let type = WireMember<String>("type")
    package let passphrase = WireMember<String>("passphrase", isOptional: true)
    package let path = WireMember<String>("path", isOptional: true)
    package let command = WireMember<[String]>("command", isOptional: true)
    package let credential = WireMember<String>("credential", isOptional: true)
    package let unlockPassphrase = SlotRemovalRequestMembers.table.unlockPassphrase
    package let unlockKey = SlotRemovalRequestMembers.table.unlockKey

    package static let table = Self()
}
