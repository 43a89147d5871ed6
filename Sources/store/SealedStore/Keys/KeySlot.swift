// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// An unlock method of the vault: the master key, wrapped under a key derived from one secret.
struct KeySlot: Equatable, Sendable {
    var source: KeySource
    var stretching: KeyStretching
    /// The wrapped key, nonce ‖ ciphertext ‖ tag, 72 bytes.
    var wrapped: [UInt8]
    /// The creation time in whole seconds, or `nil` if an older version created the slot without it.
    var madeAt: WallTime?

    static let wrappedCount = AEAD.keyCount + AEAD.overhead
    /// The maximum size in bytes of a path, a credential's name or a command; sixteen such slots fit into the
    /// vault file.
    static let maximumTextLength = 3_800
    /// The minimum number of characters of a new passphrase, as of gpg-agent and NIST SP 800-63B, section 3.1.1.2.
    ///
    /// Argon2id makes each guess slow, but a thief of the store can make as many as the machine allows. Slots with
    /// shorter passphrases still open.
    static let minimumPassphraseLength = 8
}

extension NewSlot {
    /// The text that the slot stores in clear.
    var text: String {
        switch self {
        case .passphrase: ""
        case .keyFile(let path): path ?? ""
        case .external(_, let name, _): name
        }
    }
}

/// The source of a slot's secret.
package enum KeySource: Equatable, Sendable {
    case passphrase
    /// A file of at least 32 random bytes; `nil` means `keyfile` in the state directory.
    case keyFile(path: String?)
    /// A source outside the agent; `name` is the credential's name or the command's arguments.
    case external(ExternalProvider, name: String)
    /// An earlier master key, wrapped under the current one while records under it remain.
    case previousKey(epoch: UInt32)

    /// The slot type on disk.
    var type: UInt8 {
        switch self {
        case .passphrase: 1
        case .keyFile: 2
        case .external: 3
        case .previousKey: 4
        }
    }
}

/// The derivation of a key from a secret.
enum KeyStretching: Equatable, Sendable {
    /// For secrets that users remember.
    case argon2id(PassphraseCost, salt: RandomID)
    /// For at least 32 random bytes.
    case hash(salt: RandomID)
    /// For wrapping keys derived from the master key.
    case none
}

/// The cost of one passphrase attempt with Argon2id.
package struct PassphraseCost: Equatable, Sendable {
    package var operations: UInt32
    var memoryKiB: UInt32

    /// The cost of new slots: 256 MiB with three passes, about half a second.
    package static let standard = PassphraseCost(operations: 3, memoryKiB: 262_144)
    /// The minimum accepted from a file.
    package static let floor = PassphraseCost(operations: 2, memoryKiB: 65_536)
    /// The maximum accepted from a file, so that a changed file cannot make unlocking take minutes.
    package static let ceiling = PassphraseCost(operations: 10, memoryKiB: 1_048_576)

    /// Whether the cost is between ``floor`` and ``ceiling``; checked before any work is done.
    var isAcceptable: Bool {
        (PassphraseCost.floor.operations...PassphraseCost.ceiling.operations).contains(operations)
            && (PassphraseCost.floor.memoryKiB...PassphraseCost.ceiling.memoryKiB).contains(memoryKiB)
    }
}
