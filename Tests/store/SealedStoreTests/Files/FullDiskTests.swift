// SPDX-License-Identifier: MIT

import Glibc
import Synchronization
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// A small file system that is filled up.
///
/// Only root can mount one.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible, "mounting needs root"))
struct FullDiskTests {
    let fixture: StoreFixture
    let disk: SmallDisk

    init() throws {
        let directory = TemporaryDirectory.fresh
        let statePath = "\(directory.path)/state"
        disk = try #require(SmallDisk(at: statePath, kibibytes: 512))
        fixture = StoreFixture(directory)
    }

    @Test(.holds("57")) func `on a full disk the refresh token is not sent, and later it is`() throws {
        let (open, _) = try fixture.unlocked()
        let old = try open.snapshot(refreshToken: "RT-1")
        #expect(open.store.commit(.work, old) == .durable)
        disk.fill()
        let failure = #expect(throws: StorageFailure.self) {
            try open.store.reserve(.work, old)
        }
        #expect(failure?.message.contains("No space left on device") == true)
        disk.clear()
        try open.store.reserve(.work, old)
        try open.commitDurably("RT-2")
        open.store.close()
        let (second, loaded) = try fixture.unlocked()
        #expect(try loaded.sessions.map { try second.refreshToken(of: $0.snapshot) } == ["RT-2"])
        second.store.close()
    }

    @Test(.holds("58")) func `a disk that fills up during the request has room for the answer`() throws {
        let (open, _) = try fixture.unlocked()
        let old = try open.snapshot(refreshToken: "RT-1")
        #expect(open.store.commit(.work, old) == .durable)
        try open.store.reserve(.work, old)
        disk.fill()
        try open.commitDurably("RT-2")
        open.store.close()
        let (second, loaded) = try fixture.unlocked()
        #expect(try loaded.sessions.map { try second.refreshToken(of: $0.snapshot) } == ["RT-2"])
        second.store.close()
    }

    @Test(.holds("59")) func `a read-only disk keeps the refresh token from being sent and can be read`()
        async throws
    {
        let (open, _) = try fixture.unlocked()
        let old = try open.snapshot(refreshToken: "RT-1")
        #expect(open.store.commit(.work, old) == .durable)
        try await disk.setReadOnly(true)
        #expect(throws: StorageFailure.self) {
            try open.store.reserve(.work, old)
        }
        let outcome = open.store.commit(.work, try open.snapshot(refreshToken: "RT-2"))
        guard case .lifeboat = outcome else {
            Issue.record("\(outcome)")
            return
        }
        try await disk.setReadOnly(false)
        #expect(open.store.maintain() == [.work])
        open.store.close()
        let (second, loaded) = try fixture.unlocked()
        #expect(try loaded.sessions.map { try second.refreshToken(of: $0.snapshot) } == ["RT-2"])
        second.store.close()
    }
}

/// A tmpfs mounted for one test.
final class SmallDisk: Sendable {
    private let path: String

    init?(at path: String, kibibytes: Int) {
        self.path = path
        mkdir(path, 0o700)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(kibibytes)k,mode=0700") == 0 else {
            rmdir(path)
            return nil
        }
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
    }

    /// Whether this process can mount file systems.
    static let isPossible: Bool = {
        guard geteuid() == 0 else { return false }
        let directory = TemporaryDirectory.fresh
        return SmallDisk(at: "\(directory.path)/probe", kibibytes: 64) != nil
    }()

    func fill() {
        let file = open("\(path)/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        let block = [UInt8](repeating: 0x55, count: 4096)
        while block.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) > 0 {}
    }

    func clear() {
        unlink("\(path)/ballast")
    }

    func setReadOnly(_ isReadOnly: Bool) async throws {
        let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
        // A program that another test is starting has, until its exec, whatever was open for writing at its fork.
        let isDone = try await Polling.until { mount("tmpfs", path, "tmpfs", flags, "mode=0700") == 0 }
        #expect(isDone, "\(SystemFailure("mount"))")
    }
}
