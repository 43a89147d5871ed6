// SPDX-License-Identifier: MIT

import AgentProtocol
import SecretMemory
import TokenCore

/// A secret that unlocks a vault.
package enum UnlockSecret: Sendable {
    case passphrase(GuardedBytes)
    /// The key file of every key file slot, or only the one at this path.
    case keyFile(path: String?)
    /// The secret delivered by the provider of slot `slot`.
    case external(slot: Int, GuardedBytes)
}

/// An unlock proof: the secret of any slot, required for changing the vault's unlock methods.
package enum UnlockProof: Sendable {
    case passphrase(GuardedBytes)
    /// The content of a key file, or the output of a command or credential.
    case key(GuardedBytes)

    /// Returns the secrets that may open `slot`.
    func candidates(for slot: KeySlot) throws(StoreError) -> [GuardedBytes] {
        switch (self, slot.source) {
        case (.passphrase(let bytes), .passphrase), (.key(let bytes), .keyFile): [bytes]
        // A command may print a line feed after the secret.
        case (.key(let bytes), .external): [bytes] + [try bytes.withoutLineBreak()].compactMap(\.self)
        case (.passphrase, _), (.key, _): []
        }
    }
}

extension GuardedBytes {
    /// Returns a copy without the final line feed, or `nil` if there is none.
    fileprivate func withoutLineBreak() throws(StoreError) -> GuardedBytes? {
        guard count > 1, unsafe read({ unsafe $0.last }) == UInt8(ascii: "\n") else { return nil }
        return unsafe try read { bytes throws(StoreError) in unsafe try .guarding(bytes.dropLast()) }
    }

    /// Returns a guarded copy of `bytes`.
    package static func guarding(_ bytes: some Collection<UInt8>) throws(StoreError) -> GuardedBytes {
        let copy = try StoreError.allocating { () throws(SealedMemoryError) in
            try GuardedBytes(count: bytes.count)
        }
        unsafe copy.write { unsafe $0.copyBytes(from: bytes) }
        return copy
    }
}

/// The description of a slot to create.
package enum NewSlot: Sendable {
    case passphrase(GuardedBytes, cost: PassphraseCost = .standard)
    /// An absolute path, or `nil` for `keyfile` in the state directory; the file is created if it is missing.
    case keyFile(path: String?)
    /// The secret that the provider delivers now and at each unlock; under 32 bytes it is treated as a
    /// passphrase.
    case external(ExternalProvider, name: String, GuardedBytes)
}

/// A slot as shown to users.
package struct SlotDescription: Equatable, Sendable {
    /// The index among the slots, from 0; it changes when an earlier slot is removed.
    package let index: Int
    package let kind: SlotKind
    /// A description for the user: a path or a command's name, but no secret.
    package let detail: String
    package let source: KeySource
    /// The creation time, or `nil` if an older version created the slot without it.
    package let madeAt: WallTime?

    package init(index: Int, kind: SlotKind, detail: String, source: KeySource, madeAt: WallTime? = nil) {
        self.index = index
        self.kind = kind
        self.detail = detail
        self.source = source
        self.madeAt = madeAt
    }
}

/// The state of the store.
package enum StoreState: String, Sendable {
    /// No vault exists; see ``SessionStore/initialize(with:)``.
    case uninitialized
    case locked
    case unlocked
}
