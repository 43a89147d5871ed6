// SPDX-License-Identifier: MIT

import SecretMemory

/// The file `vault`: the slots that open the store, and the proof that nobody changed them.
///
/// ```
/// "TKAVLT\0" | u8 version 1 or 2 | u16 suite 1 | u16 length of all before the commitment
/// vault_id[16] | u32 epoch | u64 generation | u8 slot count, at most 16 | slots
/// commitment[32] = BLAKE2b-256(key: master key, "ta1 commit" ‖ vault_id ‖ epoch)
/// mac[32]        = BLAKE2b-256(key: subkey 1 "ta1hdr..", all bytes above)
/// ```
///
/// Version 2 allows slots with a creation time, and is written only if there is one. Integers are little
/// endian. The MAC covers every slot, so that none can be removed or weakened unnoticed.
struct VaultFile: Equatable, Sendable {
    static let magic = Array("TKAVLT\0".utf8)
    /// The latest known version.
    static let version: UInt8 = 2
    /// The version to which wrapped keys are bound, whatever the file's version: old slots remain valid.
    private static let boundVersion: UInt8 = 1
    /// XChaCha20-Poly1305, BLAKE2b, Argon2id.
    static let suite: UInt16 = 1
    static let maximumSlots = 16
    static let maximumCount = 0xFFFF + 64

    var id: RandomID
    /// The number of the current master key.
    var epoch: UInt32
    /// The number of this version of the file.
    var generation: UInt64
    var slots: [KeySlot]

    /// The commitment and MAC as read, to be verified once the key is known.
    struct Seal: Equatable, Sendable {
        var authenticated: [UInt8]
        var commitment: [UInt8]
        var mac: [UInt8]

        /// Returns whether `key` is the file's key, and the file is unchanged since its owner wrote it.
        func isValid(under key: MasterKey, vault: RandomID) -> Bool {
            CryptoPrimitives.areEqual(commitment, key.commitment(vault: vault))
                && CryptoPrimitives.areEqual(mac, key.authenticationCode(authenticated))
        }
    }

    /// Returns the data to which a slot's wrapped key is bound.
    func associatedData(of slot: KeySlot) -> [UInt8] {
        var bytes = VaultFile.magic
        bytes.append(VaultFile.boundVersion)
        bytes.append(integer: VaultFile.suite)
        bytes.append(id)
        bytes.append(integer: epoch)
        return bytes + slot.authenticated
    }

    /// Returns the bytes of the file, sealed by `key`.
    ///
    /// - Throws: ``StoreError/slotTooLarge(limit:)`` if the length exceeds its field.
    func serialized(under key: MasterKey) throws(StoreError) -> [UInt8] {
        var slotBytes: [UInt8] = []
        for slot in slots { slot.append(to: &slotBytes) }
        var bytes = VaultFile.magic
        bytes.append(slots.contains { $0.madeAt != nil } ? VaultFile.version : 1)
        bytes.append(integer: VaultFile.suite)
        guard let length = UInt16(exactly: VaultFile.fixedCount + slotBytes.count),
            let slotCount = UInt8(exactly: slots.count)
        else { throw .slotTooLarge(limit: KeySlot.maximumTextLength) }
        bytes.append(integer: length)
        bytes.append(id)
        bytes.append(integer: epoch)
        bytes.append(integer: generation)
        bytes.append(slotCount)
        bytes += slotBytes
        bytes += key.commitment(vault: id)
        return bytes + key.authenticationCode(bytes)
    }

    /// The number of bytes before the slots.
    private static let fixedCount = magic.count + 1 + 2 + 2 + RandomID.byteCount + 4 + 8 + 1

    /// Parses a vault file, which must not be trusted before ``Seal/isValid(under:vault:)``.
    ///
    /// Costs are checked here, so that no work is done for a changed slot.
    static func parse(_ bytes: [UInt8], path: String) throws(StoreError) -> (VaultFile, Seal) {
        do {
            return try bytes.read { try parse(&$0, whole: bytes, path: path) }
        } catch let error as StoreError {
            throw error
        } catch RecordError.malformed(let reason) {
            throw .damagedVault(path: path, reason: reason)
        } catch {
            throw .damagedVault(path: path, reason: "it is truncated")
        }
    }

    private static func parse(
        _ reader: inout ByteReader,
        whole: [UInt8],
        path: String
    ) throws -> (VaultFile, Seal) {
        guard try reader.bytes(magic.count) == magic else {
            throw RecordError.malformed("it is not a vault file")
        }
        let version = try reader.integer(UInt8.self)
        guard version <= Self.version else {
            throw StoreError.futureVersion(path: path, version: Int(version))
        }
        guard version > 0, try reader.integer(UInt16.self) == suite else {
            throw RecordError.malformed("its version is unknown")
        }
        let count = Int(try reader.integer(UInt16.self))
        guard whole.count >= count + 64 else { throw RecordError.truncated }
        guard whole.count == count + 64 else { throw RecordError.malformed("it has trailing bytes") }
        var file = VaultFile(
            id: try reader.id(),
            epoch: try reader.integer(),
            generation: try reader.integer(),
            slots: []
        )
        let slotCount = Int(try reader.integer(UInt8.self))
        guard slotCount <= maximumSlots else { throw RecordError.malformed("it has too many slots") }
        for _ in 0..<slotCount { file.slots.append(try KeySlot(&reader, version: version)) }
        guard reader.offset == count else { throw RecordError.malformed("its length is wrong") }
        guard file.slots.allSatisfy(\.hasAcceptableCost) else {
            throw StoreError.unacceptableCost(path: path)
        }
        let commitment = try reader.bytes(32)
        let seal = Seal(
            authenticated: Array(whole[..<(count + 32)]),
            commitment: commitment,
            mac: try reader.bytes(32)
        )
        return (file, seal)
    }
}

extension KeySlot {
    fileprivate var hasAcceptableCost: Bool {
        guard case .argon2id(let cost, _) = stretching else { return true }
        return cost.isAcceptable
    }
}
