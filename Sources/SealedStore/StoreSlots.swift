// SPDX-License-Identifier: MIT

/// Changing the ways the store opens, while it is unlocked.
extension SessionStore {
    /// Adds a way to open the vault.
    /// - Throws: ``StoreError/locked``, ``StoreError/tooManySlots``, ``StoreError/unavailable(path:reason:)``.
    package func addSlot(_ slot: NewSlot) throws(StoreError) {
        try changeVault { keeper, ring throws(StoreError) in
            try keeper.addSlot(slot, ring: ring)
            return ring
        }
    }

    /// Removes a way to open the vault; what it opened stays closed to it from then on.
    /// - Throws: ``StoreError/locked``, ``StoreError/noSuchSlot(_:)``, ``StoreError/lastSlot``.
    package func removeSlot(_ index: Int) throws(StoreError) {
        try changeVault { keeper, ring throws(StoreError) in
            try keeper.removeSlot(index, ring: ring)
            return ring
        }
    }

    /// Replaces the passphrase `old` by `new`.
    /// - Throws: ``StoreError/locked``, ``StoreError/wrongPassphrase``, ``StoreError/emptyPassphrase``.
    package func changePassphrase(
        from old: GuardedBytes,
        to new: GuardedBytes,
        cost: PassphraseCost = .standard
    ) throws(StoreError) {
        try changeVault { keeper, ring throws(StoreError) in
            try keeper.changePassphrase(from: old, to: new, cost: cost, ring: ring)
            return ring
        }
    }

    /// Puts a new master key in place; records move to it at their next commit or in ``maintain()``.
    ///
    /// - Parameter secrets: one for each slot that is not a readable key file: nobody else can wrap the new key.
    /// - Throws: ``StoreError/locked``, ``StoreError/slotSecretNeeded(_:)``.
    package func rekey(with secrets: [UnlockSecret] = []) throws(StoreError) {
        try changeVault { keeper, ring throws(StoreError) in
            try keeper.rekey(with: secrets, ring: ring)
        }
    }

    private func changeVault(
        _ change: (inout VaultKeeper, KeyRing) throws(StoreError) -> KeyRing
    ) throws(StoreError) {
        try work.withLock { work throws(StoreError) in
            guard var keeper = work.keeper, let ring = work.ledger?.ring else {
                throw work.keeper == nil ? .notInitialized : .locked
            }
            defer { publish(work) }
            let next = try change(&keeper, ring)
            work.keeper = keeper
            work.ledger?.ring = next
            work.ledger?.unnoted += 1
            work.counter?.hasten()
            noteGenerations(&work, announcing: true)
        }
    }
}
