// SPDX-License-Identifier: MIT

import SecretMemory

/// The unencrypted header of a sealed record, without which the ciphertext does not decrypt.
///
/// ```
/// "TKAREC\0" | u8 version 1 | u16 suite 1 | vault_id[16] | record_id[16] | u32 epoch
/// u64 generation | u8 phase | u32 length of the padded plaintext | nonce[24] | ciphertext | tag[16]
/// ```
///
/// Integers are little endian; everything before the nonce is associated data. A record file consists of two
/// equal halves: the intent in the first, the commit or tombstone in the second.
struct RecordHeader: Equatable, Sendable {
    static let magic = Array("TKAREC\0".utf8)
    static let version: UInt8 = 1
    /// The number of bytes before the nonce.
    static let count = magic.count + 1 + 2 + 2 * RandomID.byteCount + 4 + 8 + 1 + 4

    /// The type of a record's content.
    enum ContentKind: UInt8 {
        /// An intent: the refresh token in the record is about to be sent.
        case intent = 1
        /// A commit: the current state of the session.
        case commit = 2
        /// A tombstone: the session was logged out.
        case tombstone = 3
    }

    var vault: RandomID
    var record: RandomID
    var epoch: UInt32
    /// The generation, which grows with every record written for a session.
    var generation: UInt64
    var phase: ContentKind

    /// Returns the bytes before the nonce of a record with `plaintextCount` padded bytes.
    func serialized(plaintextCount: Int) -> [UInt8] {
        var bytes = RecordHeader.magic
        bytes.reserveCapacity(RecordHeader.count)
        bytes.append(RecordHeader.version)
        bytes.append(integer: VaultFile.suite)
        bytes.append(vault)
        bytes.append(record)
        bytes.append(integer: epoch)
        bytes.append(integer: generation)
        bytes.append(phase.rawValue)
        bytes.append(integer: UInt32(plaintextCount))
        return bytes
    }

    /// Parses a header and the number of bytes that follow it.
    static func parse(_ bytes: [UInt8]) throws(RecordError) -> (RecordHeader, sealedCount: Int) {
        guard bytes.count >= count else { throw bytes.allSatisfy { $0 == 0 } ? .empty : .truncated }
        return try bytes.read(parse)
    }

    private static func parse(_ reader: inout ByteReader) throws(RecordError) -> (RecordHeader, Int) {
        let magic = try reader.bytes(magic.count)
        guard magic == Self.magic else {
            throw magic.allSatisfy { $0 == 0 } ? RecordError.empty : RecordError.notARecord
        }
        let version = try reader.integer(UInt8.self)
        guard version <= Self.version else { throw .futureVersion(Int(version)) }
        guard version == Self.version, try reader.integer(UInt16.self) == VaultFile.suite else {
            throw .notARecord
        }
        let vault = try reader.id()
        let record = try reader.id()
        let epoch = try reader.integer(UInt32.self)
        let generation = try reader.integer(UInt64.self)
        guard let phase = ContentKind(rawValue: try reader.integer()) else { throw .notARecord }
        let header = RecordHeader(
            vault: vault,
            record: record,
            epoch: epoch,
            generation: generation,
            phase: phase
        )
        return (header, Int(try reader.integer(UInt32.self)) + AEAD.overhead)
    }
}
