// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Whatever is changed on disk is noticed, and costs at most the session it belongs to.
///
/// Long loops yield: there are as few threads for all tests as processors, and others wait for a socket meanwhile.
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

    /// In the full run every bit; else one or two of every byte.
    @Test(.holds("40")) func `every changed bit of the vault is noticed before or at unlocking`() async throws
    {
        let vault = try #require(Disk.read("\(fixture.statePath)/vault"))
        let bits = stride(from: 0, to: vault.count * 8, by: TestEnvironment.isFull ? 1 : 7)
        for bit in bits {
            await Task.yield()
            var changed = vault
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: StoreError.self, "bit \(bit)") { try unlock(vault: changed) }
        }
        #expect(throws: Never.self) { try unlock(vault: vault) }
        Attachment.record("\(Array(bits).count) bits of a vault, all noticed", named: "figure")
    }

    @Test(.holds("41")) func `a vault cut anywhere is refused`() async throws {
        let vault = try #require(Disk.read("\(fixture.statePath)/vault"))
        for count in 0..<vault.count {
            await Task.yield()
            #expect(throws: StoreError.self, "\(count) bytes") {
                try unlock(vault: Array(vault.prefix(count)))
            }
        }
        #expect(throws: StoreError.self) { try unlock(vault: vault + [0]) }
    }

    /// In the full run every bit; else every bit of the header, and some of what is sealed.
    @Test(.holds("40")) func `every changed bit of a record that means something costs that session only`()
        async throws
    {
        let record = try #require(Disk.read(work))
        let meaning = try meaning(of: record)
        let header = RecordHeader.count + AEAD.nonceCount
        var bits = Array(meaning.lowerBound * 8..<(meaning.lowerBound + header) * 8)
        let step = TestEnvironment.isFull ? 1 : 1_999
        bits += stride(from: bits.count + meaning.lowerBound * 8, to: meaning.upperBound * 8, by: step)
        var wrong: [Int] = []
        for bit in bits + [meaning.upperBound * 8 - 1] {
            await Task.yield()
            var changed = record
            changed[bit / 8] ^= 1 << (bit % 8)
            let loaded = try load(work, changed)
            let isNoticed = loaded.problems.map(\.kind) == [.unreadable]
            if !isNoticed || loaded.sessions.map(\.name) != [.home] { wrong.append(bit) }
        }
        #expect(wrong.isEmpty)
        Attachment.record("\(bits.count) bits of a record, \(wrong.count) not noticed", named: "figure")
    }

    /// The first half holds an intent that is over, and the second is longer than what is sealed in it.
    @Test(.holds("40")) func `what is changed in the slack of a record changes nothing`() async throws {
        let record = try #require(Disk.read(work))
        let meaning = try meaning(of: record)
        let slack = Array(0..<meaning.lowerBound) + Array(meaning.upperBound..<record.count)
        var harmed: [Int] = []
        var tried = 0
        for offset in stride(from: 0, to: slack.count, by: TestEnvironment.isFull ? 3 : 1_201) {
            await Task.yield()
            var changed = record
            changed[slack[offset]] ^= 0xFF
            tried += 1
            if try load(work, changed).sessions.count != 2 { harmed.append(slack[offset]) }
        }
        #expect(harmed.isEmpty)
        Attachment.record("\(tried) bytes of slack, \(harmed.count) of a meaning", named: "figure")
    }

    /// Where the record that counts lies in its file.
    private func meaning(of record: [UInt8]) throws -> Range<Int> {
        let half = record.count / 2
        let length = try RecordHeader.parse(Array(record[half...])).sealedCount
        return half..<half + RecordHeader.count + length
    }

    @Test(.holds("41")) func `a record cut anywhere costs that session only`() async throws {
        let record = try #require(Disk.read(work))
        let step = TestEnvironment.isFull ? 1 : 509
        var wrong: [Int] = []
        for count in Array(stride(from: 0, to: record.count, by: step)) + [record.count - 1] {
            await Task.yield()
            let loaded = try load(work, Array(record.prefix(count)))
            let isNoticed = loaded.problems.map(\.kind) == [.unreadable]
            if !isNoticed || loaded.sessions.map(\.name) != [.home] { wrong.append(count) }
        }
        #expect(wrong.isEmpty)
        Attachment.record("\(record.count / step) lengths, all refused", named: "figure")
    }

    @Test(.holds("42")) func `records cannot be swapped`() throws {
        let (one, other) = (try #require(Disk.read(work)), try #require(Disk.read(home)))
        Disk.write(one, to: home)
        Disk.write(other, to: work)
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.isEmpty)
        #expect(loaded.problems.map(\.kind) == [.unreadable, .unreadable])
        #expect(loaded.problems.allSatisfy { $0.description.contains("renamed or rearranged") })
        #expect(Disk.names(fixture.sessionsPath).allSatisfy { $0.hasSuffix(".bad") })
    }

    @Test(.holds("42")) func `a record cannot be renamed`() throws {
        let name = String(work.dropLast(4).suffix(32))
        let other = String(name.reversed())
        try #require(name != other && name.allSatisfy(\.isHexDigit))
        rename(work, work.replacing(name, with: other))
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.map(\.name) == [.home])
        #expect(loaded.problems.contains { $0.description.contains("renamed or rearranged") })
    }

    @Test(.holds("42")) func `the halves of a record cannot be swapped`() throws {
        let record = try #require(Disk.read(work))
        let loaded = try load(work, Array(record[(record.count / 2)...] + record[..<(record.count / 2)]))
        #expect(loaded.sessions.map(\.name) == [.home])
    }

    @Test(.holds("42")) func `a record of another vault is refused and left alone`() throws {
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

    @Test(.holds("44")) func `an old copy of a record is refused and kept`() throws {
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

    @Test(.holds("44")) func `a logged-out session cannot be brought back by an old copy`() throws {
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

    @Test(.holds("48")) func `a record of a newer version is left alone`() throws {
        var record = try #require(Disk.read(work))
        record[record.count / 2 + 7] = 2
        Disk.write(record, to: work)
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.map(\.name) == [.home])
        #expect(loaded.problems.first?.description.contains("version 2") == true)
        #expect(Disk.read(work) == record)
    }

    @Test(.holds("48")) func `a vault of a newer version is refused and left alone`() throws {
        let path = "\(fixture.statePath)/vault"
        var vault = try #require(Disk.read(path))
        vault[7] = 3
        Disk.write(vault, to: path)
        #expect(throws: StoreError.futureVersion(path: path, version: 3)) { try fixture.open() }
        #expect(Disk.read(path) == vault)
    }
}
