// SPDX-License-Identifier: MIT

import TokenCore

/// One way to open the vault: the master key, wrapped under a key made from one secret.
struct KeySlot: Equatable, Sendable {
    var source: KeySource
    var stretching: KeyStretching
    /// nonce ‖ wrapped master key ‖ tag, 72 bytes.
    var wrapped: [UInt8]
    /// When it was made, in whole seconds; `nil`: by a version that did not note it.
    var madeAt: WallTime?

    static let wrappedCount = AEAD.keyCount + AEAD.overhead
    /// The most bytes of a path, a credential's name or a command: sixteen such slots have room in the
    /// vault's file.
    static let longestText = 3_800
}

extension NewSlot {
    /// What the slot will store in clear.
    var text: String {
        switch self {
        case .passphrase: ""
        case .keyFile(let path): path ?? ""
        case .external(_, let name, _): name
        }
    }
}

/// Where a slot's secret comes from.
package enum KeySource: Equatable, Sendable {
    case passphrase
    /// A file of at least 32 random bytes; `nil` is `keyfile` in the state directory.
    case keyFile(path: String?)
    /// Something outside the agent; `name` is the credential's name or the command's arguments.
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

/// Who delivers an external secret; the raw value is on disk.
package enum ExternalProvider: UInt8, CaseIterable, Sendable {
    case systemdCredential = 1
    case secretService = 2
    case keychain = 3
    /// The name holds the arguments, separated by NUL.
    case command = 4

    /// What messages call it.
    var word: String {
        switch self {
        case .systemdCredential: "credential"
        case .secretService, .keychain: "keyring entry"
        case .command: "command"
        }
    }
}

/// How a secret becomes a key.
enum KeyStretching: Equatable, Sendable {
    /// For secrets people can remember.
    case argon2id(PassphraseCost, salt: RandomID)
    /// For at least 32 random bytes.
    case hash(salt: RandomID)
    /// The wrapping key is derived from the master key.
    case none
}

/// What one guess of a passphrase costs, with Argon2id.
package struct PassphraseCost: Equatable, Sendable {
    package var operations: UInt32
    package var memoryKiB: UInt32

    /// What new slots get: 256 MiB three times over, about half a second.
    package static let standard = PassphraseCost(operations: 3, memoryKiB: 262_144)
    /// The least that is accepted when read.
    package static let floor = PassphraseCost(operations: 2, memoryKiB: 65_536)
    /// The most, so that a changed file cannot make unlocking take minutes.
    package static let ceiling = PassphraseCost(operations: 10, memoryKiB: 1_048_576)

    package init(operations: UInt32, memoryKiB: UInt32) {
        self.operations = operations
        self.memoryKiB = memoryKiB
    }

    /// Whether it lies between ``floor`` and ``ceiling``; checked before any work is done.
    var isAcceptable: Bool {
        (PassphraseCost.floor.operations...PassphraseCost.ceiling.operations).contains(operations)
            && (PassphraseCost.floor.memoryKiB...PassphraseCost.ceiling.memoryKiB).contains(memoryKiB)
    }
}
