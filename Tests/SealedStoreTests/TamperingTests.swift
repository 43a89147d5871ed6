// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import SealedStore

/// Whatever is changed on disk is noticed, and costs at most the session it belongs to.
struct TamperingTests {
    let fixture = StoreFixture()
    /// Paths of the records of the sessions `work` and `home`.
    let work: String
    let home: String

    init() throws {
        let (open, _) = try fixture.unlocked()
        try open.store.addSlot(.passphrase(.text("correct horse"), cost: .floor))
        try open.commitDurably("RT-1")
        work = try #require(fixture.records().first)
        try open.commitDurably("RT-2", to: .home)
        let work = work
        home = try #require(fixture.records().first { $0 != work })
        open.store.close()
    }

    func copy() -> StoreFixture {
        let copy = StoreFixture()
        Disk.copy(fixture.statePath, to: copy.statePath)
        return copy
    }

    /// Unlocks a copy in which the file at `path` holds `bytes`.
    func load(_ path: String, _ bytes: [UInt8]) throws -> LoadedSessions {
        let copy = copy()
        Disk.write(bytes, to: copy.statePath + path.dropFirst(fixture.statePath.utf8.count))
        let (open, loaded) = try copy.unlocked()
        open.store.close()
        return loaded
    }

    /// Unlocks the store itself with `bytes` for a vault, which must fail before any record is touched.
    func unlock(vault bytes: [UInt8]) throws {
        Disk.write(bytes, to: "\(fixture.statePath)/vault")
        let open = try fixture.open()
        defer { open.store.close() }
        _ = try open.store.unlock(with: .keyFile(path: nil))
    }

    @Test func `every changed bit of the vault is noticed before or at unlocking`() throws {
        let vault = try #require(Disk.read("\(fixture.statePath)/vault"))
        for bit in 0..<vault.count * 8 {
            var changed = vault
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: StoreError.self, "bit \(bit)") { try unlock(vault: changed) }
        }
        #expect(throws: Never.self) { try unlock(vault: vault) }
    }

    @Test func `a vault cut anywhere is refused`() throws {
        let vault = try #require(Disk.read("\(fixture.statePath)/vault"))
        for count in 0..<vault.count {
            #expect(throws: StoreError.self, "\(count) bytes") {
                try unlock(vault: Array(vault.prefix(count)))
            }
        }
        #expect(throws: StoreError.self) { try unlock(vault: vault + [0]) }
    }

    @Test func `every changed byte of a record that means something costs that session only`() throws {
        let record = try #require(Disk.read(work))
        let half = record.count / 2
        let header = Array(half..<half + RecordHeader.count + AEAD.nonceCount)
        let length = try RecordHeader.parse(Array(record[half...])).sealedCount
        let body = stride(from: header.count, to: RecordHeader.count + length, by: 37).map { half + $0 }
        for offset in header + body + [half + RecordHeader.count + length - 1] {
            var changed = record
            changed[offset] ^= 0x20
            let loaded = try load(work, changed)
            #expect(loaded.sessions.map(\.name) == [.home], "offset \(offset - half)")
            #expect(loaded.problems.map(\.kind) == [.unreadable])
        }
    }

    @Test func `a record cut anywhere costs that session only`() throws {
        let record = try #require(Disk.read(work))
        for count in Array(stride(from: 0, to: record.count, by: 509)) + [record.count - 1] {
            let loaded = try load(work, Array(record.prefix(count)))
            #expect(loaded.sessions.map(\.name) == [.home], "\(count) bytes")
            #expect(loaded.problems.map(\.kind) == [.unreadable])
        }
    }

    @Test func `records can not be swapped`() throws {
        let (one, other) = (try #require(Disk.read(work)), try #require(Disk.read(home)))
        Disk.write(one, to: home)
        Disk.write(other, to: work)
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.isEmpty)
        #expect(loaded.problems.map(\.kind) == [.unreadable, .unreadable])
        #expect(loaded.problems.allSatisfy { $0.description.contains("renamed or rearranged") })
        #expect(Disk.names(fixture.sessionsPath).allSatisfy { $0.hasSuffix(".bad") })
    }

    @Test func `the halves of a record can not be swapped`() throws {
        let record = try #require(Disk.read(work))
        let loaded = try load(work, Array(record[(record.count / 2)...] + record[..<(record.count / 2)]))
        #expect(loaded.sessions.map(\.name) == [.home])
    }

    @Test func `a record of another vault is refused and left alone`() throws {
        let other = StoreFixture()
        let (open, _) = try other.unlocked()
        try open.commitDurably("RT-X")
        open.store.close()
        let foreignPath = try #require(other.records().first)
        let foreign = try #require(Disk.read(foreignPath))
        Disk.write(foreign, to: work)
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.map(\.name) == [.home])
        #expect(loaded.problems.count == 1)
        #expect(loaded.problems.first?.description.contains("another vault") == true)
        #expect(Disk.read(work) == foreign)
    }

    @Test func `an old copy of a record is refused and kept`() throws {
        let old = try #require(Disk.read(work))
        let (open, _) = try fixture.unlocked()
        try open.commitDurably("RT-3")
        open.store.close()
        Disk.write(old, to: work)
        let (second, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.map(\.name) == [.home])
        #expect(loaded.problems.map(\.kind) == [.rolledBack])
        #expect(loaded.problems.map(\.session) == [.work])
        #expect(Disk.read(work + ".bad") == old)
        try second.commitDurably("RT-4")
    }

    @Test func `a logged-out session can not be brought back by an old copy`() throws {
        let old = try #require(Disk.read(work))
        let (open, _) = try fixture.unlocked()
        try open.store.forget(.work)
        open.store.close()
        Disk.write(old, to: work)
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.map(\.name) == [.home])
        #expect(loaded.problems.map(\.kind) == [.rolledBack])
    }

    @Test func `a missing or changed manifest is reported and costs no session`() throws {
        let path = "\(fixture.statePath)/manifest"
        let manifest = try #require(Disk.read(path))
        for offset in stride(from: 0, to: manifest.count, by: 5) {
            var changed = manifest
            changed[offset] ^= 1
            let loaded = try load(path, changed)
            #expect(loaded.sessions.count == 2)
            #expect(loaded.problems.map(\.kind) == [.manifest], "offset \(offset)")
        }
    }

    @Test func `a record of a newer version is left alone`() throws {
        var record = try #require(Disk.read(work))
        record[record.count / 2 + 7] = 2
        Disk.write(record, to: work)
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.map(\.name) == [.home])
        #expect(loaded.problems.first?.description.contains("version 2") == true)
        #expect(Disk.read(work) == record)
    }

    @Test func `a vault of a newer version is refused and left alone`() throws {
        let path = "\(fixture.statePath)/vault"
        var vault = try #require(Disk.read(path))
        vault[7] = 2
        Disk.write(vault, to: path)
        #expect(throws: StoreError.futureVersion(path: path, version: 2)) { try fixture.open() }
        #expect(Disk.read(path) == vault)
    }
}
