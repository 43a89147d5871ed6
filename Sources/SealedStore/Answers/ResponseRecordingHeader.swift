// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// What stands at the beginning of the file into which an answer is recorded: which attempt it belongs to, and sealed, how
/// to read it.
///
/// ```
/// "TKAANS\0" | u8 version 1 | u16 suite 1 | vault_id[16] | record_id[16] | u32 epoch | u64 generation
/// u32 length of the sealed part | sealed
/// sealed: boot_id[16] | i64 boot time | i64 wall time, both when the request was about to be sent | note
/// ```
///
/// Integers are little endian; everything before the sealed part is associated data. At the end of the room for a head is
/// a ``ReadingNote``.
struct ResponseRecordingHeader: Equatable {
    private static let magic = Array("TKAANS\0".utf8)
    private static let version: UInt8 = 1
    /// Bytes before the sealed part.
    private static let clearCount = magic.count + 1 + 2 + 2 * RandomID.byteCount + 4 + 8 + 4
    /// Bytes of the clock in the sealed part.
    private static let clockCount = RandomID.byteCount + 8 + 8
    /// Bytes of a note: two lines of a key log and an address.
    static let longestNote = ReadingNote.place - clearCount - clockCount - AEAD.overhead

    var vault: RandomID
    var record: RandomID
    var epoch: UInt32
    /// That of the intent to send the request.
    var generation: UInt64

    /// What is sealed in it.
    struct Content: Equatable {
        var clock: ClockReading
        /// What the network's side needs to read the answer; nothing here understands it.
        var note: [UInt8]
    }

    /// The bytes of a head that says `content`, of at most ``longestNote``.
    func sealed(_ content: Content, under key: UnsafeRawBufferPointer) -> [UInt8] {
        var text = WipedBytes()
        text.append(content.clock.boot)
        text.append(integer: content.clock.now.nanoseconds)
        text.append(integer: content.clock.wallTime.secondsSince1970)
        unsafe content.note.withUnsafeBytes { unsafe text.append($0) }
        let clear = clear(sealedCount: text.count + AEAD.overhead)
        return unsafe text.read { text in unsafe clear + AEAD.seal(text, associated: clear, key: key) }
    }

    /// The head at the start of a file, and where its sealed part ends.
    ///
    /// - Throws: ``RecordError``: `empty` if none was written yet.
    init(_ bytes: [UInt8]) throws(RecordError) {
        guard bytes.count >= ResponseRecordingHeader.clearCount else {
            throw bytes.allSatisfy { $0 == 0 } ? .empty : .truncated
        }
        guard bytes.prefix(ResponseRecordingHeader.clearCount).contains(where: { $0 != 0 }) else {
            throw .empty
        }
        guard bytes.starts(with: ResponseRecordingHeader.magic) else { throw .notARecord }
        do {
            self = try unsafe bytes.withUnsafeBytes { bytes in
                var reader = unsafe ByteReader(bytes)
                return try ResponseRecordingHeader(after: &reader)
            }
        } catch let fault as RecordError {
            throw fault
        } catch {
            throw .truncated
        }
    }

    private init(after reader: inout ByteReader) throws {
        _ = try reader.bytes(ResponseRecordingHeader.magic.count)
        let version = try reader.integer(UInt8.self)
        guard version <= ResponseRecordingHeader.version else {
            throw RecordError.futureVersion(Int(version))
        }
        guard version == ResponseRecordingHeader.version, try reader.integer(UInt16.self) == VaultFile.suite
        else {
            throw RecordError.notARecord
        }
        vault = try reader.id()
        record = try reader.id()
        epoch = try reader.integer()
        generation = try reader.integer()
    }

    /// Opens the sealed part of the head at the start of `bytes`.
    func open(_ bytes: [UInt8], under key: UnsafeRawBufferPointer) throws(RecordError) -> Content {
        do {
            return try unsafe bytes.withUnsafeBytes { bytes in
                var reader = unsafe ByteReader(bytes)
                let clear = try reader.bytes(ResponseRecordingHeader.clearCount)
                // The room for a head is far below 64 KiB.
                let count =
                    Int(clear[ResponseRecordingHeader.clearCount - 4]) | Int(
                        clear[ResponseRecordingHeader.clearCount - 3]
                    ) << 8
                guard clear == self.clear(sealedCount: count), count >= AEAD.overhead else {
                    throw RecordError.forged
                }
                return try unsafe ResponseRecordingHeader.content(of: reader.take(count), clear, key)
            }
        } catch let fault as RecordError {
            throw fault
        } catch {
            throw .truncated
        }
    }

    private static func content(
        of sealed: UnsafeRawBufferPointer,
        _ clear: [UInt8],
        _ key: UnsafeRawBufferPointer
    ) throws -> Content {
        var text = [UInt8](repeating: 0, count: sealed.count - AEAD.overhead)
        defer { text.wipe() }
        let isGenuine = unsafe text.withUnsafeMutableBytes { text in
            unsafe AEAD.open(sealed, associated: clear, key: key, into: text)
        }
        guard isGenuine else { throw RecordError.forged }
        return try unsafe text.withUnsafeBytes { text in
            var reader = unsafe ByteReader(text)
            let clock = ClockReading(
                boot: try reader.id(),
                now: Instant(nanoseconds: try reader.integer()),
                wallTime: WallTime(secondsSince1970: try reader.integer())
            )
            return Content(clock: clock, note: try reader.bytes(reader.remaining))
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
