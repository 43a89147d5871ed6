// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Links, pipes and directories planted among the records are refused, and what they point to stays as it is.
struct PlantedFileTests {
    static let kinds = ["symlink", "hardlink", "pipe", "directory"]

    let fixture = StoreFixture()
    let record: String
    let target: String

    init() throws {
        let (open, _) = try fixture.unlocked()
        try open.commitDurably("RT-1")
        open.store.close()
        record = String(try #require(fixture.records().first).dropLast(4))
        target = "\(fixture.directory.path)/target"
        Disk.write([1, 2, 3], to: target)
    }

    @Test(.holds("50"), arguments: kinds)
    func `a planted reservation keeps the refresh token from being sent`(kind: String) throws {
        Plant.place(kind, at: "\(record).new", target: target)
        let (open, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.map(\.name) == [.work])
        #expect(loaded.problems.count == 1)
        let snapshot = try #require(loaded.sessions.first).snapshot
        #expect(throws: StorageFailure.self) {
            try open.store.reserve(.work, snapshot)
        }
        #expect(Disk.read(target) == [1, 2, 3])
        var status = stat()
        #expect(lstat("\(record).new", &status) == 0)
    }

    @Test(.holds("50"), arguments: kinds)
    func `a reservation planted while the agent runs is refused too`(kind: String) throws {
        let (open, loaded) = try fixture.unlocked()
        let snapshot = try #require(loaded.sessions.first).snapshot
        Plant.place(kind, at: "\(record).new", target: target)
        #expect(throws: StorageFailure.self) {
            try open.store.reserve(.work, snapshot)
        }
        #expect(Disk.read(target) == [1, 2, 3])
    }

    @Test(.holds("50"), arguments: kinds)
    func `a planted replacement sends the commit to the lifeboat`(kind: String) throws {
        let (open, _) = try fixture.unlocked()
        Plant.place(kind, at: "\(record).alt", target: target)
        let outcome = open.store.commit(.work, try open.snapshot(refreshToken: "RT-2"))
        guard case .lifeboat = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(Disk.read(target) == [1, 2, 3])
        if kind == "directory" { rmdir("\(record).alt") } else { unlink("\(record).alt") }
        #expect(open.store.maintain() == [.work])
        open.store.close()
        let (second, loaded) = try fixture.unlocked()
        #expect(try loaded.sessions.map { try second.refreshToken(of: $0.snapshot) } == ["RT-2"])
    }

    @Test(.holds("50"), arguments: kinds)
    func `a planted record costs its session and is reported`(kind: String) throws {
        unlink("\(record).rec")
        Plant.place(kind, at: "\(record).rec", target: target)
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.isEmpty)
        #expect(loaded.problems.map(\.kind) == [.unreadable])
        #expect(Disk.read(target) == [1, 2, 3])
    }

    @Test func `a blank reservation is cleared away without a word`() throws {
        Disk.write([], to: "\(record).new")
        let (open, loaded) = try fixture.unlocked()
        #expect(loaded.problems.isEmpty)
        #expect(loaded.sessions.map(\.isInterrupted) == [false])
        #expect(fixture.records("new").isEmpty)
        open.store.close()
        Disk.write([UInt8](repeating: 0, count: 32_768), to: "\(record).new")
        let (_, again) = try fixture.unlocked()
        #expect(again.problems.isEmpty)
        #expect(again.sessions.map(\.isInterrupted) == [false])
    }

    @Test func `a torn reservation means that the refresh token may have been sent`() throws {
        Disk.write([UInt8](repeating: 0xAA, count: 32_768), to: "\(record).new")
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.map(\.isInterrupted) == [true])
        #expect(loaded.problems.map(\.kind) == [.unreadable])
        #expect(Disk.names(fixture.sessionsPath).contains { $0.hasSuffix(".new.bad") })
    }

    @Test func `files kept aside never overwrite one another`() throws {
        for round in 1...3 {
            Disk.write([UInt8](repeating: 0xAA, count: 8192), to: "\(record).new")
            let (open, _) = try fixture.unlocked()
            open.store.close()
            #expect(Disk.names(fixture.sessionsPath).filter { $0.hasSuffix(".bad") }.count == round)
        }
    }
}
