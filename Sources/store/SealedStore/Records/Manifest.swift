// SPDX-License-Identifier: MIT

import SecretMemory

/// The highest durable generation of every record, by which an old copy of a single record is detected.
///
/// The manifest may lag behind the records but never lead: a record is flushed before its generation is
/// added. The file is written in batches, so that refreshes do not wait for it. An old copy is therefore
/// detected unless it is newer than the latest write. Removed records are remembered up to a limit.
///
/// ```
/// "TKAMAN\0" | u8 version 1 or 2 | u16 suite 1 | vault_id[16] | u32 epoch | nonce | sealed | tag
/// sealed: version 2 only: u64 value of the counter that reveals an old copy of the whole store
///         u64 vault generation | u32 count | u32 how many of them are removed, oldest first, at the end
///         count × (record_id[16] | u64 generation)
/// ```
///
/// Version 2 is written exactly if the store has such a counter. A version of this program that does not know
/// counters therefore cannot drop the value unnoticed.
struct Manifest: Equatable, Sendable {
    static let fileName = "manifest"
    private static let magic = Array("TKAMAN\0".utf8)
    private static let plainVersion: UInt8 = 1
    private static let countedVersion: UInt8 = 2
    private static let headerCount = SealedFileHeader.count(magic)
    /// The maximum number of removed records that are remembered.
    private static let maximumRemoved = 1024

    private(set) var generations: [RandomID: UInt64] = [:]
    /// The removed records, oldest first.
    private var removed: [RandomID] = []
    var vaultGeneration: UInt64 = 0
    /// The value of the counter to which this manifest belongs, or `nil` if the store has no counter.
    var counter: UInt64?

    private var version: UInt8 { counter == nil ? Manifest.plainVersion : Manifest.countedVersion }

    /// The highest known generation of `record`.
    ///
    /// A copy with a lower generation is old.
    subscript(record: RandomID) -> UInt64 { generations[record] ?? 0 }

    /// Records that `generation` of `record` is durable.
    mutating func record(_ record: RandomID, _ generation: UInt64) {
        generations[record] = max(self[record], generation)
    }

    /// Marks the records with the IDs `gone` as removed from the store.
    mutating func remove(_ gone: some Sequence<RandomID>) {
        removed += gone.filter { generations[$0] != nil && !removed.contains($0) }
        guard removed.count > Manifest.maximumRemoved else { return }
        for record in removed.prefix(removed.count - Manifest.maximumRemoved) { generations[record] = nil }
        removed.removeFirst(removed.count - Manifest.maximumRemoved)
    }

    /// Returns the records that the manifest contains, but that are neither in `present` nor removed.
    func missing(from present: Set<RandomID>) -> [RandomID] {
        let known = present.union(removed)
        return generations.keys.filter { !known.contains($0) }
    }

    /// Returns the bytes of the file.
    func sealed(under ring: KeyRing) -> [UInt8] {
        var plaintext: [UInt8] = []
        plaintext.reserveCapacity(24 + generations.count * 24)
        if let counter { plaintext.append(integer: counter) }
        plaintext.append(integer: vaultGeneration)
        plaintext.append(integer: UInt32(generations.count))
        plaintext.append(integer: UInt32(removed.count))
        let gone = Set(removed)
        for record in generations.keys.filter({ !gone.contains($0) }) + removed {
            plaintext.append(record)
            plaintext.append(integer: self[record])
        }
        let header = Manifest.header(version, vault: ring.vault, epoch: ring.current.epoch)
        return unsafe plaintext.withUnsafeBytes { plaintext in
            unsafe ring.current.withKey(for: .manifest) { key in
                unsafe header + AEAD.seal(plaintext, associated: header, key: key)
            }
        }
    }

    private static func header(_ version: UInt8, vault: RandomID, epoch: UInt32) -> [UInt8] {
        SealedFileHeader.bytes(magic, version: version, vault: vault, epoch: epoch)
    }

    /// Opens the bytes of a manifest file.
    init(_ bytes: [UInt8], under ring: KeyRing) throws(RecordError) {
        guard bytes.count >= Manifest.headerCount + AEAD.overhead else { throw .truncated }
        let header = Array(bytes[..<Manifest.headerCount])
        let version = header[Manifest.magic.count]
        let versions = Manifest.plainVersion...Manifest.countedVersion
        let keys = [ring.current] + ring.older.values
        let fitting = keys.first { Manifest.header(version, vault: ring.vault, epoch: $0.epoch) == header }
        guard versions.contains(version), let key = fitting else { throw .otherVault }
        let count = bytes.count - Manifest.headerCount - AEAD.overhead
        var isGenuine = false
        let plaintext = unsafe [UInt8](unsafeUninitializedCapacity: count) { output, filled in
            let output = unsafe UnsafeMutableRawBufferPointer(start: output.baseAddress, count: count)
            isGenuine = unsafe bytes.withUnsafeBytes { bytes in
                let sealed = unsafe UnsafeRawBufferPointer(rebasing: bytes[Manifest.headerCount...])
                return unsafe key.withKey(for: .manifest) {
                    unsafe AEAD.open(sealed, associated: header, key: $0, into: output)
                }
            }
            filled = count
        }
        guard isGenuine else { throw .forged }
        let isCounted = version == Manifest.countedVersion
        try plaintext.read { reader throws(RecordError) in try read(reader, isCounted: isCounted) }
    }

    init() {}

    /// Adds the content of an opened manifest file.
    ///
    /// If it `isCounted`, the content begins with the counter's value.
    mutating func read(_ reader: ByteReader, isCounted: Bool = false) throws(RecordError) {
        var reader = reader
        if isCounted { counter = try reader.integer() }
        vaultGeneration = try reader.integer()
        let count = try reader.integer(UInt32.self)
        let removedCount = try reader.integer(UInt32.self)
        for index in 0..<count {
            let record = try reader.id()
            generations[record] = try reader.integer(UInt64.self)
            if index >= count - min(removedCount, count) { removed.append(record) }
        }
    }
}
