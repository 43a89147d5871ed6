// SPDX-License-Identifier: MIT

import AgentProtocol
import SecretMemory
import TokenCore

/// The slots of a changed vault and the keys they lead to.
///
/// Creating a change may take as long as trying a passphrase.
struct ChangedVault: Sendable {
    var slots: [KeySlot]
    var ring: KeyRing
}

/// Changes of the vault's unlock methods.
extension VaultFileStore {
    /// The slots shown to users, without wrapped older keys.
    var descriptions: [SlotDescription] {
        userSlots.enumerated().compactMap { description(of: $0.element, at: $0.offset) }
    }

    private func description(of slot: KeySlot, at index: Int) -> SlotDescription? {
        func description(_ kind: SlotKind, _ detail: String = "") -> SlotDescription {
            SlotDescription(
                index: index,
                kind: kind,
                detail: detail,
                source: slot.source,
                madeAt: slot.madeAt
            )
        }
        return switch slot.source {
        case .passphrase: description(.passphrase)
        case .keyFile(let path): description(.keyFile, path ?? directory.path(of: KeyFile.defaultName))
        case .external(let provider, let name):
            description(provider.kind, name.replacing("\0", with: " "))
        case .previousKey: nil
        }
    }

    private var userSlots: [KeySlot] { file.slots.filter { !$0.wrapsPreviousKey } }
    private var previousKeySlots: [KeySlot] { file.slots.filter(\.wrapsPreviousKey) }

    /// Wraps `masterKey` in a slot for a secret of the caller.
    func makeSlot(
        _ slot: NewSlot,
        under masterKey: MasterKey,
        at time: WallTime
    ) throws(StoreError) -> KeySlot {
        guard slot.text.utf8.count <= KeySlot.maximumTextLength else {
            throw .slotTooLarge(limit: KeySlot.maximumTextLength)
        }
        let (source, stretching, secret) = try parts(of: slot)
        if case .argon2id = stretching, secret.characterCount < KeySlot.minimumPassphraseLength {
            throw .passphraseTooShort(minimum: KeySlot.minimumPassphraseLength)
        }
        let madeAt = WallTime(secondsSince1970: time.secondsSince1970)
        let made = KeySlot(source: source, stretching: stretching, wrapped: [], madeAt: madeAt)
        return wrap(masterKey, made, try KeyWrapping.wrappingKey(secret, stretching, vault: file.id))
    }

    private func parts(
        of slot: NewSlot
    ) throws(StoreError) -> (KeySource, KeyStretching, GuardedBytes) {
        switch slot {
        case .passphrase(let bytes, let cost): return (.passphrase, .argon2id(cost, salt: .random()), bytes)
        case .keyFile(let path):
            let bytes = try KeyFile.readOrCreate(path, in: directory)
            return (.keyFile(path: path), .hash(salt: .random()), bytes)
        case .external(let provider, let name, let bytes):
            let stretching: KeyStretching =
                bytes.count >= KeyFile.minimumCount
                ? .hash(salt: .random()) : .argon2id(.standard, salt: .random())
            return (.external(provider, name: name), stretching, bytes)
        }
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

    /// Applies a change that was created from this version of the file.
    mutating func apply(_ change: ChangedVault) throws(StoreError) {
        try write(slots: change.slots, under: change.ring.current)
    }

    func adding(_ slot: NewSlot, ring: KeyRing, at time: WallTime) throws(StoreError) -> ChangedVault {
        guard file.slots.count < VaultFile.maximumSlots else { throw .tooManySlots }
        let added = try makeSlot(slot, under: ring.current, at: time)
        return ChangedVault(slots: userSlots + [added] + previousKeySlots, ring: ring)
    }

    func removing(_ index: Int, ring: KeyRing) throws(StoreError) -> ChangedVault {
        var slots = userSlots
        guard slots.indices.contains(index) else { throw .noSuchSlot(index) }
        guard slots.count > 1 else { throw .lastSlot }
        slots.remove(at: index)
        return ChangedVault(slots: slots + previousKeySlots, ring: ring)
    }

    /// Replaces the passphrase slot that `old` opens.
    func changingPassphrase(
        from old: GuardedBytes,
        to new: GuardedBytes,
        cost: PassphraseCost,
        ring: KeyRing,
        at time: WallTime
    ) throws(StoreError) -> ChangedVault {
        var slots = userSlots
        guard let index = try index(of: slots, openedBy: old) else { throw .wrongPassphrase }
        slots[index] = try makeSlot(.passphrase(new, cost: cost), under: ring.current, at: time)
        return ChangedVault(slots: slots + previousKeySlots, ring: ring)
    }

    private func index(of slots: [KeySlot], openedBy passphrase: GuardedBytes) throws(StoreError) -> Int? {
        for (index, slot) in slots.enumerated() where slot.source == .passphrase {
            if try unwrap(slot, with: passphrase) != nil { return index }
        }
        return nil
    }

    /// Replaces the current master key by a new one, wrapped for every slot; the old key is kept, wrapped
    /// under the new one.
    ///
    /// `secrets` contains one for each slot that is not a readable key file.
    ///
    /// - Throws: ``StoreError/slotSecretNeeded(_:)`` with the slot whose secret is missing or wrong.
    func rekeying(with secrets: [UnlockSecret], ring: KeyRing) throws(StoreError) -> ChangedVault {
        guard file.slots.count < VaultFile.maximumSlots else { throw .tooManySlots }
        let next = try VaultFileStore.newMasterKey(epoch: ring.current.epoch + 1)
        var slots: [KeySlot] = []
        for (index, slot) in userSlots.enumerated() {
            guard let secret = try secret(opening: slot, at: index, among: secrets) else {
                throw .slotSecretNeeded(index)
            }
            var renewed = slot
            renewed.stretching = slot.stretching.freshlySalted
            let key = try KeyWrapping.wrappingKey(secret, renewed.stretching, vault: file.id)
            slots.append(wrap(next, renewed, key))
        }
        let key = try KeyWrapping.wrappingKey(belowCurrent: next)
        var older = ring.older
        older[ring.current.epoch] = ring.current
        for previous in older.values.sorted(by: { $0.epoch < $1.epoch }) {
            let source = KeySource.previousKey(epoch: previous.epoch)
            let slot = KeySlot(source: source, stretching: .none, wrapped: [])
            slots.append(wrap(previous, slot, key, epoch: next.epoch))
        }
        return ChangedVault(slots: slots, ring: KeyRing(vault: ring.vault, current: next, older: older))
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

    /// Removes the keys of epochs that no record uses any more.
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

extension GuardedBytes {
    /// The number of characters in UTF-8, whose other bytes begin with the bits 10.
    fileprivate var characterCount: Int {
        unsafe read { bytes in unsafe bytes.count { $0 & 0xC0 != 0x80 } }
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
