// SPDX-License-Identifier: MIT

import TokenCore

/// What opens a vault.
package enum UnlockSecret: Sendable {
    case passphrase(GuardedBytes)
    /// Every key file slot, or only those of this path.
    case keyFile(path: String?)
    /// What the provider of slot `slot` delivered.
    case external(slot: Int, GuardedBytes)
}

/// The secret of any of the vault's slots, given to be allowed to change how the vault opens.
package enum UnlockProof: Sendable {
    case passphrase(GuardedBytes)
    /// The content of a key file, or what a command or a credential delivers.
    case key(GuardedBytes)

    /// What may open `slot`.
    func candidates(for slot: KeySlot) throws(StoreError) -> [GuardedBytes] {
        switch (self, slot.source) {
        case (.passphrase(let bytes), .passphrase), (.key(let bytes), .keyFile): [bytes]
        // A program may print a line break after the secret.
        case (.key(let bytes), .external): [bytes] + [try bytes.withoutLineBreak()].compactMap(\.self)
        case (.passphrase, _), (.key, _): []
        }
    }
}

extension GuardedBytes {
    /// A copy without the line break at the end; `nil` where there is none.
    fileprivate func withoutLineBreak() throws(StoreError) -> GuardedBytes? {
        guard count > 1, unsafe read({ unsafe $0.last }) == UInt8(ascii: "\n") else { return nil }
        do throws(SealedMemoryError) {
            let shorter = try GuardedBytes(count: count - 1)
            unsafe read { all in
                unsafe shorter.write {
                    unsafe $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: all.dropLast()))
                }
            }
            return shorter
        } catch {
            throw .outOfMemory
        }
    }
}

/// A slot to be made.
package enum NewSlot: Sendable {
    case passphrase(GuardedBytes, cost: PassphraseCost = .standard)
    /// An absolute path, or `nil` for `keyfile` in the state directory; created when missing.
    case keyFile(path: String?)
    /// What the provider delivers now and will deliver at each unlock; under 32 bytes it is treated as a passphrase.
    case external(ExternalProvider, name: String, GuardedBytes)
}

/// A slot as shown to people.
package struct SlotDescription: Equatable, Sendable {
    /// Position among the slots, from 0; changes when an earlier one is removed.
    package let index: Int
    package let source: KeySource
    /// `nil`: made by a version that did not note it.
    package let madeAt: WallTime?
}

/// Whether the store can be read.
package enum StoreState: String, Sendable {
    /// No vault exists: ``SessionStore/initialize(with:)``.
    case uninitialized
    case locked
    case unlocked
}
