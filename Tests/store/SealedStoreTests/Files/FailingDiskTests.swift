// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Every storage call is made to fail once, and from there on for good: no refresh token is ever lost.
struct FailingDiskTests {
    static let codes = [EIO, ENOSPC, EROFS, EMFILE, EDQUOT]

    /// A store with one session whose refresh token is RT-1, copied for every run.
    let template = StoreFixture()

    init() throws {
        let (open, _) = try template.unlocked()
        #expect(open.store.commit(.work, try open.snapshot(refreshToken: "RT-1")) == .durable)
        open.store.close()
    }

    func copy() -> StoreFixture {
        let fixture = StoreFixture()
        Disk.copy(template.statePath, to: fixture.statePath)
        return fixture
    }

    func stored(_ fixture: StoreFixture) throws -> [String?] {
        let (open, loaded) = try fixture.unlocked()
        defer { open.store.close() }
        return try loaded.sessions.map { try open.refreshToken(of: $0.snapshot) }
    }

    @Test(.holds("59"), arguments: codes)
    func `a refresh survives the failure of any single call`(code: Int32) async throws {
        var number = 1
        while true {
            await Task.yield()
            let fixture = copy()
            let files = FaultyFiles()
            let (open, loaded) = try fixture.unlocked(files)
            let old = try #require(loaded.sessions.first).snapshot
            files.arm(.only(number, code: code))
            let wasSent = (try? open.store.reserve(.work, old)) != nil
            if wasSent {
                let outcome = open.store.commit(.work, try open.snapshot(refreshToken: "RT-2"))
                if files.failures == 0 { #expect(outcome == .durable) }
                if outcome != .durable {
                    #expect(open.store.pendingSessions == [.work])
                    #expect(open.store.maintain() == [.work])
                    #expect(open.store.pendingSessions.isEmpty)
                }
            }
            open.store.close()
            #expect(try stored(fixture) == [wasSent ? "RT-2" : "RT-1"], "call \(number) of \(files.log)")
            if files.failures == 0 { break }
            number += 1
        }
        #expect(number > 10)
    }

    @Test(.holds("59"), arguments: codes)
    func `a disk that fails for good leaves the answer in the lifeboat or in memory`(code: Int32) async throws
    {
        var number = 1
        while true {
            await Task.yield()
            let fixture = copy()
            let files = FaultyFiles()
            let (open, loaded) = try fixture.unlocked(files)
            let old = try #require(loaded.sessions.first).snapshot
            files.arm(.from(number, code: code))
            let wasSent = (try? open.store.reserve(.work, old)) != nil
            let outcome = wasSent ? open.store.commit(.work, try open.snapshot(refreshToken: "RT-2")) : nil
            let failed = files.failures > 0
            if wasSent, failed, outcome != .durable {
                #expect(open.store.maintain().isEmpty)
                files.arm(.none)
                #expect(open.store.maintain() == [.work])
            }
            files.arm(.none)
            open.store.close()
            #expect(try stored(fixture) == [wasSent ? "RT-2" : "RT-1"], "from call \(number)")
            if !failed { break }
            number += 1
        }
        #expect(number > 10)
    }

    @Test(.holds("59")) func `a start-up on a failing disk harms nothing`() async throws {
        var number = 1
        while true {
            await Task.yield()
            let fixture = copy()
            let files = FaultyFiles()
            do {
                let open = try fixture.open(files)
                files.arm(.only(number, code: EIO))
                _ = try? open.store.unlockAutomatically()
                open.store.close()
            }
            #expect(try stored(fixture) == ["RT-1"], "call \(number)")
            if files.failures == 0 { break }
            number += 1
        }
        #expect(number > 10)
    }

    @Test(.holds("59")) func `a logout that fails says so and can be repeated`() async throws {
        var number = 1
        while true {
            await Task.yield()
            let fixture = copy()
            let files = FaultyFiles()
            let (open, _) = try fixture.unlocked(files)
            files.arm(.from(number, code: EIO))
            let isDone = (try? open.store.forget(.work)) != nil
            let failures = files.failures
            files.arm(.none)
            if !isDone { try open.store.forget(.work) }
            open.store.close()
            #expect(try stored(fixture).isEmpty, "call \(number)")
            if failures == 0 { break }
            number += 1
        }
        #expect(number > 5)
    }

    @Test(.holds("60")) func `a failed flush is never repeated on the same file`() throws {
        let fixture = copy()
        let files = FaultyFiles()
        let (open, loaded) = try fixture.unlocked(files)
        let old = try #require(loaded.sessions.first).snapshot
        try open.store.reserve(.work, old)
        let reserved = try #require(fixture.records("new").first)
        var before = stat()
        #expect(lstat(reserved, &before) == 0)
        files.arm(.firstCalls("fsync", count: 1, code: EIO))
        #expect(open.store.commit(.work, try open.snapshot(refreshToken: "RT-2")) == .durable)
        var after = stat()
        #expect(lstat(try #require(fixture.records().first), &after) == 0)
        #expect(after.st_ino != before.st_ino)
        #expect(fixture.records("new").isEmpty)
    }

    @Test(.holds("62")) func `a lifeboat survives the agent's death`() throws {
        let fixture = copy()
        let files = FaultyFiles()
        let (open, loaded) = try fixture.unlocked(files)
        let old = try #require(loaded.sessions.first).snapshot
        try open.store.reserve(.work, old)
        // The reservation's flush and that of the new file; the third one is the lifeboat's.
        files.arm(.firstCalls("fsync", count: 2, code: EIO))
        let outcome = open.store.commit(.work, try open.snapshot(refreshToken: "RT-2"))
        guard case .lifeboat = outcome else {
            Issue.record("\(outcome)")
            return
        }
        files.arm(.every("fsync", code: EIO))
        open.store.close()
        #expect(try stored(fixture) == ["RT-2"])
        #expect(Disk.names("\(fixture.runtimePath)/lifeboats").isEmpty)
    }

    @Test func `a commit the disk refused is tried once more when the store is closed`() throws {
        let fixture = copy()
        let files = FaultyFiles()
        let (open, loaded) = try fixture.unlocked(files)
        let old = try #require(loaded.sessions.first).snapshot
        try open.store.reserve(.work, old)
        files.arm(.every("pwrite", code: ENOSPC))
        let outcome = open.store.commit(.work, try open.snapshot(refreshToken: "RT-2"))
        guard case .memoryOnly = outcome else {
            Issue.record("\(outcome)")
            return
        }
        files.arm(.none)
        open.store.close()
        #expect(try stored(fixture) == ["RT-2"])
    }

    @Test(.holds("62")) func `a commit the disk refused comes back after locking, also without a lifeboat`()
        throws
    {
        let fixture = copy()
        let files = FaultyFiles()
        let (open, loaded) = try fixture.unlocked(files)
        let old = try #require(loaded.sessions.first).snapshot
        try open.store.reserve(.work, old)
        files.arm(.every("pwrite", code: EIO))
        let outcome = open.store.commit(.work, try open.snapshot(refreshToken: "RT-2"))
        guard case .memoryOnly = outcome else {
            Issue.record("\(outcome)")
            return
        }
        open.store.lock()
        let again = try open.store.unlockAutomatically()
        #expect(try again.sessions.map { try open.refreshToken(of: $0.snapshot) } == ["RT-2"])
        #expect(again.problems.map(\.kind) == [.notDurable])
        #expect(open.store.maintenanceDelay == .seconds(5))
        files.arm(.none)
        #expect(open.store.maintain() == [.work])
        open.store.close()
        #expect(try stored(fixture) == ["RT-2"])
    }
}
