// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// Changing the store's unlock methods while it is unlocked.
///
/// Deriving a key from a passphrase takes long. It works on a copy of the vault's state, so that sessions can
/// be written and read meanwhile.
extension SessionStore {
    /// Checks that `secret` opens one of the slots.
    ///
    /// - Throws: ``StoreError/wrongSecret`` if it opens none, ``StoreError/notInitialized``.
    package func check(_ secret: UnlockProof) throws(StoreError) {
        guard let keeper = work.withLock({ $0.keeper }) else { throw .notInitialized }
        guard try keeper.isOpened(by: secret) else { throw .wrongSecret }
    }

    /// Adds an unlock method to the vault.
    ///
    /// - Throws: ``StoreError/locked``, ``StoreError/tooManySlots``,
    ///   ``StoreError/unavailable(path:reason:)``.
    package func addSlot(_ slot: NewSlot) throws(StoreError) {
        try changeVault { keeper, ring throws(StoreError) in
            try keeper.adding(slot, ring: ring, at: clock.wallTime)
        }
    }

    /// Removes an unlock method, whose secret then no longer opens the vault.
    ///
    /// - Throws: ``StoreError/locked``, ``StoreError/noSuchSlot(_:)``, ``StoreError/lastSlot``.
    package func removeSlot(_ index: Int) throws(StoreError) {
        try changeVault { keeper, ring throws(StoreError) in try keeper.removing(index, ring: ring) }
    }

    /// Replaces the passphrase `old` by `new`.
    ///
    /// - Throws: ``StoreError/locked``, ``StoreError/wrongPassphrase``, ``StoreError/passphraseTooShort(minimum:)``.
    package func changePassphrase(
        from old: GuardedBytes,
        to new: GuardedBytes,
        cost: PassphraseCost = .standard
    ) throws(StoreError) {
        try changeVault { keeper, ring throws(StoreError) in
            try keeper.changingPassphrase(from: old, to: new, cost: cost, ring: ring, at: clock.wallTime)
        }
    }

    /// Replaces the master key; records move to the new one at their next commit or in ``maintain()``.
    ///
    /// - Parameter secrets: one for each slot that is not a readable key file, to wrap the new key for it.
    /// - Throws: ``StoreError/locked``, ``StoreError/slotSecretNeeded(_:)``.
    package func rekey(with secrets: [UnlockSecret] = []) throws(StoreError) {
        try changeVault { keeper, ring throws(StoreError) in
            try keeper.rekeying(with: secrets, ring: ring)
        }
    }

    /// Creates a change from the current vault and applies it, starting again if the vault has changed
    /// meanwhile.
    private func changeVault(
        _ make: (VaultFileStore, KeyRing) throws(StoreError) -> ChangedVault
    ) throws(StoreError) {
        while true {
            let (keeper, ring) = try work.withLock { work throws(StoreError) in
                try SessionStore.unlocked(work)
            }
            let change = try make(keeper, ring)
            if try apply(change, madeOf: keeper) { return }
        }
    }

    private func apply(_ change: ChangedVault, madeOf old: VaultFileStore) throws(StoreError) -> Bool {
        try work.withLock { work throws(StoreError) in
            var (keeper, _) = try SessionStore.unlocked(work)
            guard keeper.file == old.file else { return false }
            defer { publish(work) }
            try keeper.apply(change)
            work.keeper = keeper
            work.ledger?.ring = change.ring
            work.ledger?.unnoted += 1
            work.counter?.requestStep()
            recordGenerations(&work, announcing: true)
            return true
        }
    }

    private static func unlocked(_ work: MutableState) throws(StoreError) -> (VaultFileStore, KeyRing) {
        guard let keeper = work.keeper, let ring = work.ledger?.ring else {
            throw work.keeper == nil ? .notInitialized : .locked
        }
        return (keeper, ring)
    }
}
