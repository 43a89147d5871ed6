// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// The content of an opened record.
struct OpenedRecord: Sendable {
    var header: RecordHeader
    /// The size in bytes of half of the record's file.
    var half: Int
    /// The content, or `nil` if the record is a tombstone.
    var content: Content?

    /// The content of a record that is not a tombstone.
    ///
    /// It is a class because a snapshot is large, and should not be copied on its way to the agent.
    final class Content: Sendable {
        let session: SessionName
        let snapshot: SessionSnapshot

        init(session: SessionName, snapshot: SessionSnapshot) {
            self.session = session
            self.snapshot = snapshot
        }
    }
}

/// A reader of record files, which puts their secrets into sealed memory.
struct RecordReader {
    let ring: KeyRing
    let memory: SealedMemory
    let clock: ClockReading

    /// The size of the first read in bytes, sufficient for nearly every record.
    private static let firstRead = 8192

    /// Reads the commit or tombstone in the second half of `file`.
    func commit(in file: OpenFile, of record: RandomID) throws(RecordError) -> OpenedRecord {
        let half = try half(of: file)
        let opened = try open(file, at: half, half: half, record)
        guard opened.header.phase != .intent else { throw erasing(opened, .misplaced) }
        return opened
    }

    /// Reads the intent in the first half of `file`.
    func intent(in file: OpenFile, of record: RandomID) throws(RecordError) -> OpenedRecord {
        let half = try half(of: file)
        let opened = try open(file, at: 0, half: half, record)
        guard opened.header.phase == .intent else { throw erasing(opened, .misplaced) }
        return opened
    }

    /// Erases the secrets of a record that is not used after all.
    func discard(_ record: OpenedRecord) {
        for secret in record.content?.snapshot.secrets ?? [] { memory.erase(secret) }
    }

    private func erasing(_ record: OpenedRecord, _ fault: RecordError) -> RecordError {
        discard(record)
        return fault
    }

    private func half(of file: OpenFile) throws(RecordError) -> Int {
        let size = try RecordError.reading { () throws(StoreFileError) in try file.status().size }
        guard size > 0 else { throw .empty }
        guard size.isMultiple(of: 8192), size <= 4 * RecordSealing.maximumReadCount else {
            throw .truncated
        }
        return size / 2
    }

    private func open(
        _ file: OpenFile,
        at offset: Int,
        half: Int,
        _ record: RandomID
    ) throws(RecordError) -> OpenedRecord {
        var bytes = try read(file, min(RecordReader.firstRead, half), at: offset)
        let (header, sealedCount) = try RecordHeader.parse(bytes)
        let count = RecordHeader.count + sealedCount
        guard count <= min(half, RecordSealing.maximumReadCount) else { throw .truncated }
        if count > bytes.count { bytes = try read(file, count, at: offset) }
        return OpenedRecord(header: header, half: half, content: try content(of: bytes, record))
    }

    /// Opens a record whose bytes are already in memory.
    func content(of bytes: [UInt8], _ record: RandomID) throws(RecordError) -> OpenedRecord.Content? {
        try unsafe RecordSealing.open(bytes, of: record, under: ring, decode)
    }

    private func decode(
        _ header: RecordHeader,
        _ plaintext: UnsafeRawBufferPointer
    ) throws(RecordError) -> OpenedRecord.Content? {
        guard header.phase != .tombstone else { return nil }
        guard let key = ring.key(epoch: header.epoch) else { throw .unknownKey(epoch: header.epoch) }
        let (session, snapshot) = try unsafe SnapshotDecoder.decode(
            plaintext,
            secrets: memory,
            at: clock,
            under: RecordSecretSealing(record: header.record, master: key)
        )
        return OpenedRecord.Content(session: session, snapshot: snapshot)
    }

    private func read(_ file: OpenFile, _ count: Int, at offset: Int) throws(RecordError) -> [UInt8] {
        try RecordError.reading { () throws(StoreFileError) in try file.read(count: count, at: offset) }
    }
}
