// SPDX-License-Identifier: MIT

/// Changing the ways a vault opens.
extension VaultKeeper {
    /// The slots people know of; wrapped older keys are not among them.
    var descriptions: [SlotDescription] {
        userSlots.enumerated().map { SlotDescription(index: $0.offset, source: $0.element.source) }
    }

    private var userSlots: [KeySlot] { file.slots.filter { !$0.wrapsPreviousKey } }
    private var previousKeySlots: [KeySlot] { file.slots.filter(\.wrapsPreviousKey) }

    /// Wraps `masterKey` in a slot for a secret of the caller's.
    func makeSlot(_ slot: NewSlot, under masterKey: MasterKey) throws(StoreError) -> KeySlot {
        switch slot {
        case .passphrase(let bytes, let cost):
            guard bytes.count > 0 else { throw .emptyPassphrase }
            return try wrap(masterKey, .passphrase, .argon2id(cost, salt: .random()), bytes)
        case .keyFile(let path):
            let bytes = try KeyFile.readOrCreate(path, in: directory)
            return try wrap(masterKey, .keyFile(path: path), .hash(salt: .random()), bytes)
        case .external(let provider, let name, let bytes):
            guard bytes.count > 0 else { throw .emptyPassphrase }
            let stretching: KeyStretching =
                bytes.count >= KeyFile.minimumCount
                ? .hash(salt: .random()) : .argon2id(.standard, salt: .random())
            return try wrap(masterKey, .external(provider, name: name), stretching, bytes)
        }
    }

    private func wrap(
        _ masterKey: MasterKey,
        _ source: KeySource,
        _ stretching: KeyStretching,
        _ secret: GuardedBytes
    ) throws(StoreError) -> KeySlot {
        let key = try KeyWrapping.wrappingKey(secret, stretching, vault: file.id)
        return wrap(masterKey, KeySlot(source: source, stretching: stretching, wrapped: []), key)
    }

    private func wrap(
        _ masterKey: MasterKey,
        _ slot: KeySlot,
        _ key: GuardedBytes,
        epoch: UInt32? = nil
    ) -> KeySlot {
        var slot = slot
        var place = file
        place.epoch = epoch ?? masterKey.epoch
        slot.wrapped = KeyWrapping.wrap(masterKey, under: key, associated: place.associatedData(of: slot))
        return slot
    }

    mutating func addSlot(_ slot: NewSlot, ring: KeyRing) throws(StoreError) {
        guard file.slots.count < VaultFile.maximumSlots else { throw .tooManySlots }
        let added = try makeSlot(slot, under: ring.current)
        try write(slots: userSlots + [added] + previousKeySlots, under: ring.current)
    }

    mutating func removeSlot(_ index: Int, ring: KeyRing) throws(StoreError) {
        var slots = userSlots
        guard slots.indices.contains(index) else { throw .noSuchSlot(index) }
        guard slots.count > 1 else { throw .lastSlot }
        slots.remove(at: index)
        try write(slots: slots + previousKeySlots, under: ring.current)
    }

    /// Replaces the passphrase slot that `old` opens.
    mutating func changePassphrase(
        from old: GuardedBytes,
        to new: GuardedBytes,
        cost: PassphraseCost,
        ring: KeyRing
    ) throws(StoreError) {
        var slots = userSlots
        guard let index = try index(of: slots, openedBy: old) else { throw .wrongPassphrase }
        slots[index] = try makeSlot(.passphrase(new, cost: cost), under: ring.current)
        try write(slots: slots + previousKeySlots, under: ring.current)
    }

    private func index(of slots: [KeySlot], openedBy passphrase: GuardedBytes) throws(StoreError) -> Int? {
        for (index, slot) in slots.enumerated() where slot.source == .passphrase {
            if try unwrap(slot, with: passphrase) != nil { return index }
        }
        return nil
    }

    /// Puts a new master key in place of the current one, wrapped for every slot; the old one stays, wrapped
    /// under the new one.
    ///
    /// `secrets` has one for each slot that is not a readable key file.
    /// - Throws: ``StoreError/slotSecretNeeded(_:)`` naming the slot whose secret is missing or wrong.
    mutating func rekey(with secrets: [UnlockSecret], ring: KeyRing) throws(StoreError) -> KeyRing {
        guard file.slots.count < VaultFile.maximumSlots else { throw .tooManySlots }
        let next = try VaultKeeper.newMasterKey(epoch: ring.current.epoch + 1)
        var slots: [KeySlot] = []
        for (index, slot) in userSlots.enumerated() {
            guard let secret = try secret(opening: slot, at: index, among: secrets) else {
                throw .slotSecretNeeded(index)
            }
            slots.append(try wrap(next, slot.source, slot.stretching.freshlySalted, secret))
        }
        let key = try KeyWrapping.wrappingKey(belowCurrent: next)
        var older = ring.older
        older[ring.current.epoch] = ring.current
        for previous in older.values.sorted(by: { $0.epoch < $1.epoch }) {
            let source = KeySource.previousKey(epoch: previous.epoch)
            let slot = KeySlot(source: source, stretching: .none, wrapped: [])
            slots.append(wrap(previous, slot, key, epoch: next.epoch))
        }
        try write(slots: slots, under: next)
        return KeyRing(vault: ring.vault, current: next, older: older)
    }

    private func secret(
        opening slot: KeySlot,
        at index: Int,
        among secrets: [UnlockSecret]
    ) throws(StoreError) -> GuardedBytes? {
        for candidate in secrets + [.keyFile(path: nil)] {
            guard let bytes = try secret(candidate, fits: slot, at: index) else { continue }
            if try unwrap(slot, with: bytes) != nil { return bytes }
        }
        return nil
    }

    /// Forgets the keys of epochs no record uses any more.
    mutating func dropOlderKeys(keeping epochs: Set<UInt32>, ring: KeyRing) throws(StoreError) -> KeyRing {
        let kept = ring.older.filter { epochs.contains($0.key) }
        guard kept.count < ring.older.count else { return ring }
        let slots = file.slots.filter { slot in
            guard case .previousKey(let epoch) = slot.source else { return true }
            return epochs.contains(epoch)
        }
        try write(slots: slots, under: ring.current)
        return KeyRing(vault: ring.vault, current: ring.current, older: kept)
    }
}

extension KeySlot {
    fileprivate var wrapsPreviousKey: Bool {
        guard case .previousKey = source else { return false }
        return true
    }
}

extension KeyStretching {
    fileprivate var freshlySalted: KeyStretching {
        switch self {
        case .argon2id(let cost, _): .argon2id(cost, salt: .random())
        case .hash: .hash(salt: .random())
        case .none: .none
        }
    }
}
