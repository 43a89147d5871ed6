// SPDX-License-Identifier: MIT

/// What opens a vault.
package enum UnlockSecret: Sendable {
    case passphrase(GuardedBytes)
    /// Every key file slot, or only those of this path.
    case keyFile(path: String?)
    /// What the provider of slot `slot` delivered.
    case external(slot: Int, GuardedBytes)
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
}

/// Whether the store can be read.
package enum StoreState: String, Sendable {
    /// No vault exists: ``SessionStore/initialize(with:)``.
    case uninitialized
    case locked
    case unlocked
}
