// SPDX-License-Identifier: MIT

import SecretMemory
import Text
import TokenCore

/// The head of a recorded response: the attempt it belongs to and, sealed, the data for parsing it.
///
/// ```
/// "TKAANS\0" | u8 version 1 | u16 suite 1 | vault_id[16] | record_id[16] | u32 epoch | u64 generation
/// u32 length of the sealed part | sealed
/// sealed: boot_id[16] | i64 boot time | i64 wall time, both when the request was about to be sent | note
/// ```
///
/// Integers are little endian. Everything before the sealed part is associated data. A ``ParseAttemptNote`` is at
/// the end of the space for the head.
struct ResponseRecordingHeader: Equatable {
    private static let magic = Array("TKAANS\0".utf8)
    private static let version: UInt8 = 1
    /// The number of bytes before the sealed part.
    private static let clearCount = magic.count + 1 + 2 + 2 * RandomID.byteCount + 4 + 8 + 4
    /// The number of bytes of the clock in the sealed part.
    private static let clockCount = RandomID.byteCount + 8 + 8
    /// The maximum size of a note in bytes, enough for two lines of a key log and an address.
    static let maximumNoteLength = ParseAttemptNote.place - clearCount - clockCount - AEAD.overhead

    var vault: RandomID
    var record: RandomID
    var epoch: UInt32
    /// The generation of the intent to send the request.
    var generation: UInt64

    /// The content of the sealed part.
    struct SealedContent: Equatable {
        var clock: ClockReading
        /// Data of the network code for parsing the response, opaque here.
        var note: [UInt8]
    }

    /// Returns the bytes of a head with `content`, whose note has at most ``maximumNoteLength`` bytes.
    func sealed(_ content: SealedContent, under key: UnsafeRawBufferPointer) -> [UInt8] {
        var text = WipedBytes()
        text.append(content.clock.boot)
        text.append(integer: content.clock.now.nanoseconds)
        text.append(integer: content.clock.wallTime.secondsSince1970)
        unsafe content.note.withUnsafeBytes { unsafe text.append($0) }
        let clear = clear(sealedCount: text.count + AEAD.overhead)
        return unsafe text.read { text in unsafe clear + AEAD.seal(text, associated: clear, key: key) }
    }

    /// Parses the head at the start of a file, up to the sealed part.
    ///
    /// - Throws: ``RecordError``, which is `empty` if no head was written yet.
    init(_ bytes: [UInt8]) throws(RecordError) {
        guard bytes.count >= ResponseRecordingHeader.clearCount else {
            throw bytes.allSatisfy { $0 == 0 } ? .empty : .truncated
        }
        guard bytes.prefix(ResponseRecordingHeader.clearCount).contains(where: { $0 != 0 }) else {
            throw .empty
        }
        guard bytes.starts(with: ResponseRecordingHeader.magic) else { throw .notARecord }
        self = try bytes.read(ResponseRecordingHeader.init(after:))
    }

    private init(after reader: inout ByteReader) throws(RecordError) {
        _ = try reader.bytes(ResponseRecordingHeader.magic.count)
        let version = try reader.integer(UInt8.self)
        guard version <= ResponseRecordingHeader.version else {
            throw .futureVersion(Int(version))
        }
        guard version == ResponseRecordingHeader.version, try reader.integer(UInt16.self) == VaultFile.suite
        else {
            throw .notARecord
        }
        vault = try reader.id()
        record = try reader.id()
        epoch = try reader.integer()
        generation = try reader.integer()
    }

    /// Opens the sealed part of the head at the start of `bytes`.
    func open(_ bytes: [UInt8], under key: UnsafeRawBufferPointer) throws(RecordError) -> SealedContent {
        try bytes.read { reader throws(RecordError) in
            let clear = try reader.bytes(ResponseRecordingHeader.clearCount)
            // Two bytes suffice: the space for the head is far below 64 KiB.
            let count =
                Int(clear[ResponseRecordingHeader.clearCount - 4]) | Int(
                    clear[ResponseRecordingHeader.clearCount - 3]
                ) << 8
            guard clear == self.clear(sealedCount: count), count >= AEAD.overhead else {
                throw .forged
            }
            return try unsafe ResponseRecordingHeader.content(of: reader.take(count), clear, key)
        }
    }

    private static func content(
        of sealed: UnsafeRawBufferPointer,
        _ clear: [UInt8],
        _ key: UnsafeRawBufferPointer
    ) throws(RecordError) -> SealedContent {
        var text = [UInt8](repeating: 0, count: sealed.count - AEAD.overhead)
        defer { text.wipe() }
        let isGenuine = unsafe text.withUnsafeMutableBytes { text in
            unsafe AEAD.open(sealed, associated: clear, key: key, into: text)
        }
        guard isGenuine else { throw .forged }
        return try text.read { reader throws(RecordError) in
            let clock = ClockReading(
                boot: try reader.id(),
                now: Instant(nanoseconds: try reader.integer()),
                wallTime: WallTime(secondsSince1970: try reader.integer())
            )
            return SealedContent(clock: clock, note: try reader.bytes(reader.remaining))
        }
    }

    private func clear(sealedCount: Int) -> [UInt8] {
        var bytes = ResponseRecordingHeader.magic
        bytes.append(ResponseRecordingHeader.version)
        bytes.append(integer: VaultFile.suite)
        bytes.append(vault)
        bytes.append(record)
        bytes.append(integer: epoch)
        bytes.append(integer: generation)
        bytes.append(integer: UInt32(clamping: sealedCount))
        return bytes
    }

    init(vault: RandomID, record: RandomID, epoch: UInt32, generation: UInt64) {
        self.vault = vault
        self.record = record
        self.epoch = epoch
        self.generation = generation
    }
}
