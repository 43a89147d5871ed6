// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// The vault file on disk: reading, opening and replacing it.
///
/// A change writes a new file and keeps the old one as `vault.prev` until the new one has been read back, so
/// that one of them opens at every moment.
struct VaultFileStore {
    static let fileName = "vault"
    static let previousName = "vault.prev"

    let directory: OpenDirectory
    private(set) var file: VaultFile
    private var seal: VaultFile.Seal?

    private init(_ directory: OpenDirectory, _ file: VaultFile, _ seal: VaultFile.Seal?) {
        self.directory = directory
        self.file = file
        self.seal = seal
    }

    /// Reads the vault in `directory`, or its predecessor if it is damaged or missing; returns `nil` if there
    /// is neither.
    static func read(_ directory: OpenDirectory) throws(StoreError) -> VaultFileStore? {
        var damage: StoreError?
        for name in [fileName, previousName] {
            do throws(StoreError) {
                guard let bytes = try contents(of: name, in: directory) else { continue }
                let (file, seal) = try VaultFile.parse(bytes, path: directory.path(of: name))
                return VaultFileStore(directory, file, seal)
            } catch {
                guard case .damagedVault = error else { throw error }
                damage = damage ?? error
            }
        }
        if let damage { throw damage }
        return nil
    }

    /// Creates a vault with a new random key that `slot` opens, and the change that remains to be written.
    static func create(
        in directory: OpenDirectory,
        _ slot: NewSlot,
        at time: WallTime
    ) throws(StoreError) -> (VaultFileStore, ChangedVault) {
        let masterKey = try newMasterKey(epoch: 1)
        let file = VaultFile(id: .random(), epoch: 1, generation: 0, slots: [])
        let keeper = VaultFileStore(directory, file, nil)
        let ring = KeyRing(vault: file.id, current: masterKey)
        let added = try keeper.makeSlot(slot, under: masterKey, at: time)
        return (keeper, ChangedVault(slots: [added], ring: ring))
    }

    /// Tries the slots that `secret` may open.
    ///
    /// - Returns: the keys, or `nil` if no slot opened.
    func open(with secret: UnlockSecret) throws(StoreError) -> KeyRing? {
        for (index, slot) in file.slots.enumerated() {
            guard let bytes = try self.secret(secret, fits: slot, at: index) else { continue }
            let masterKey = try unwrap(slot, with: bytes)
            if let masterKey { return try ring(under: masterKey) }
        }
        return nil
    }

    /// Unwraps the master key in `slot`, or returns `nil` if `secret` is not the slot's.
    func unwrap(_ slot: KeySlot, with secret: GuardedBytes) throws(StoreError) -> MasterKey? {
        try KeyWrapping.unwrap(
            slot.wrapped,
            under: KeyWrapping.wrappingKey(secret, slot.stretching, vault: file.id),
            associated: file.associatedData(of: slot),
            epoch: file.epoch
        )
    }

    /// Returns the bytes that `secret` provides for `slot`, or `nil` if it is for another slot or kind of
    /// slot.
    func secret(
        _ secret: UnlockSecret,
        fits slot: KeySlot,
        at index: Int
    ) throws(StoreError) -> GuardedBytes? {
        switch (secret, slot.source) {
        case (.passphrase(let bytes), .passphrase): bytes
        case (.keyFile(nil), .keyFile(let path)): try KeyFile.read(path, in: directory)
        case (.keyFile(let wanted?), .keyFile(let path)):
            wanted == path ?? directory.path(of: KeyFile.defaultName)
                ? try KeyFile.read(path, in: directory) : nil
        case (.external(index, let bytes), .external): bytes
        case (.passphrase, _), (.keyFile, _), (.external, _): nil
        }
    }

    /// Verifies the whole file under its key and unwraps the older keys.
    private func ring(under masterKey: MasterKey) throws(StoreError) -> KeyRing {
        let path = directory.path(of: VaultFileStore.fileName)
        guard let seal, seal.isValid(under: masterKey, vault: file.id) else {
            throw .damagedVault(path: path, reason: "its authentication code is wrong")
        }
        var older: [UInt32: MasterKey] = [:]
        let key = try KeyWrapping.wrappingKey(belowCurrent: masterKey)
        for slot in file.slots {
            guard case .previousKey(let epoch) = slot.source else { continue }
            let previous = try KeyWrapping.unwrap(
                slot.wrapped,
                under: key,
                associated: file.associatedData(of: slot),
                epoch: epoch
            )
            guard let previous else { throw .damagedVault(path: path, reason: "cannot decrypt an older key") }
            older[epoch] = previous
        }
        return KeyRing(vault: file.id, current: masterKey, older: older)
    }

    /// Returns whether one of the slots opens with `secret`.
    func isOpened(by secret: UnlockProof) throws(StoreError) -> Bool {
        for slot in file.slots {
            for candidate in try secret.candidates(for: slot) where try unwrap(slot, with: candidate) != nil {
                return true
            }
        }
        return false
    }

    /// Ensures that the file on disk is the one that was read, and removes its predecessor.
    func finishReplacement() throws(StoreError) {
        guard directory.contains(VaultFileStore.previousName) else { return }
        guard let seal else { return }
        let bytes = seal.authenticated + seal.mac
        if try VaultFileStore.contents(of: VaultFileStore.fileName, in: directory) != bytes {
            try VaultFileStore.storing(directory) { () throws(StoreFileError) in
                try directory.replace(VaultFileStore.fileName, with: bytes)
            }
        }
        try removePrevious()
    }

    /// Writes the next version of the file with `slots`, which becomes the current one only afterwards.
    mutating func write(slots: [KeySlot], under masterKey: MasterKey) throws(StoreError) {
        guard slots.count <= VaultFile.maximumSlots else { throw .tooManySlots }
        var next = file
        next.slots = slots
        next.epoch = masterKey.epoch
        next.generation += 1
        let bytes = try next.serialized(under: masterKey)
        let old = try VaultFileStore.contents(of: VaultFileStore.fileName, in: directory)
        try VaultFileStore.storing(directory) { () throws(StoreFileError) in
            if let old { try directory.replace(VaultFileStore.previousName, with: old) }
            try directory.replace(VaultFileStore.fileName, with: bytes)
        }
        let path = directory.path(of: VaultFileStore.fileName)
        guard try VaultFileStore.contents(of: VaultFileStore.fileName, in: directory) == bytes else {
            throw .unavailable(path: path, reason: "it differs when read back")
        }
        (file, seal) = try VaultFile.parse(bytes, path: path)
        try removePrevious()
    }

    private func removePrevious() throws(StoreError) {
        try VaultFileStore.storing(directory) { () throws(StoreFileError) in
            guard directory.contains(VaultFileStore.previousName) else { return }
            try directory.unlink(VaultFileStore.previousName)
            try directory.synchronize()
        }
    }

    static func newMasterKey(epoch: UInt32) throws(StoreError) -> MasterKey {
        try StoreError.allocating { () throws(SealedMemoryError) in try MasterKey.random(epoch: epoch) }
    }

    private static func contents(of name: String, in directory: OpenDirectory) throws(StoreError) -> [UInt8]?
    {
        do throws(StoreFileError) {
            return try directory.contents(of: name, limit: VaultFile.maximumCount + 1)
        } catch {
            guard error == .missing else { throw StoreError(error, at: directory.path(of: name)) }
            return nil
        }
    }

    private static func storing(
        _ directory: OpenDirectory,
        _ body: () throws(StoreFileError) -> Void
    ) throws(StoreError) {
        do throws(StoreFileError) {
            try body()
        } catch {
            throw .unavailable(path: directory.path(of: fileName), reason: error.description)
        }
    }
}
