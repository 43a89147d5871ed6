// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

struct StoreDirectoryTests {
    let temporary = TemporaryDirectory.fresh
    var path: String { "\(temporary.path)/state" }

    func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    /// Runs in its own process, because the umask is that of all tests.
    @Test(.holds("39")) func `missing directories are created private, whatever the umask`() async {
        await #expect(processExitsWith: .success) {
            let temporary = TemporaryDirectory.fresh
            umask(0o777)
            let directory = try StoreDirectory("\(temporary.path)/a/b/state")
            umask(0o022)
            for part in ["a", "a/b", "a/b/state", "a/b/state/sessions"] {
                precondition(File.mode(temporary.path(part)) == 0o700)
            }
            precondition(File.mode(temporary.path("a/b/state/lock")) == 0o600)
            withExtendedLifetime(directory) {}
            exit(0)
        }
    }

    @Test(arguments: [0o770, 0o707, 0o750, 0o701] as [mode_t])
    func `a directory others can enter is refused`(mode: mode_t) throws {
        mkdir(path, 0o700)
        chmod(path, mode)
        let reason = "its mode \(String(mode, radix: 8)) allows access by others"
        #expect(throws: StoreError.unsafe(path: path, reason: reason)) { try StoreDirectory(path) }
        #expect(Disk.names(path).isEmpty)
    }

    @Test func `a symbolic link is refused, also to a good directory`() throws {
        mkdir("\(temporary.path)/real", 0o700)
        symlink("real", path)
        #expect(throws: StoreError.self) { try StoreDirectory(path) }
        #expect(Disk.names("\(temporary.path)/real").isEmpty)
    }

    @Test func `a symbolic link above it is followed once and checked`() throws {
        mkdir("\(temporary.path)/real", 0o700)
        symlink("real", "\(temporary.path)/link")
        #expect(throws: Never.self) { try StoreDirectory("\(temporary.path)/link/state") }
        #expect(mode("\(temporary.path)/real/state") == 0o700)
    }

    @Test func `a file in its place is refused`() throws {
        Disk.write([1], to: path)
        #expect(throws: StoreError.self) { try StoreDirectory(path) }
        #expect(Disk.read(path) == [1])
    }

    @Test(arguments: [0o777, 0o770, 0o722] as [mode_t])
    func `a parent others can write is refused unless it is sticky`(mode: mode_t) throws {
        let parent = "\(temporary.path)/parent"
        mkdir(parent, 0o700)
        chmod(parent, mode)
        #expect(throws: StoreError.self) { try StoreDirectory("\(parent)/state") }
        #expect(Disk.names(parent).isEmpty)
        chmod(parent, mode | 0o1000)
        #expect(throws: Never.self) { try StoreDirectory("\(parent)/state") }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give directories away"))
    func `another user's directory or parent is refused`() throws {
        mkdir(path, 0o700)
        chown(path, 1234, 1234)
        #expect(throws: StoreError.unsafe(path: path, reason: "it belongs to uid 1234")) {
            try StoreDirectory(path)
        }
        let parent = "\(temporary.path)/parent"
        mkdir(parent, 0o755)
        chown(parent, 1234, 1234)
        #expect(throws: StoreError.self) { try StoreDirectory("\(parent)/state") }
    }

    @Test(arguments: ["state", "", "/", "/tmp/../etc/x"])
    func `a path that is not absolute and plain is refused`(path: String) {
        #expect(throws: StoreError.self) { try StoreDirectory(path) }
    }

    @Test(.holds("63")) func `a second agent is refused and told who holds the store`() throws {
        let first = try StoreDirectory(path)
        #expect(throws: StoreError.heldByAnother(path: path, pid: getpid())) { try StoreDirectory(path) }
        first.close()
        #expect(throws: Never.self) { try StoreDirectory(path) }
    }

    @Test(.holds("63")) func `a closed store stores nothing and lets the next one in`() throws {
        let fixture = StoreFixture()
        let (first, _) = try fixture.unlocked()
        let snapshot = try first.snapshot(refreshToken: "RT-1")
        #expect(first.store.commit(.work, snapshot) == .durable)
        #expect(throws: StoreError.heldByAnother(path: fixture.statePath, pid: getpid())) {
            try fixture.open()
        }
        first.store.close()
        #expect(
            first.store.commit(.work, snapshot) == .memoryOnly(StorageFailure(message: "the store is closed"))
        )
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.count == 1)
    }

    @Test(.holds("50"), arguments: ["symlink", "hardlink", "pipe", "directory"])
    func `a planted lock, vault or key file is refused`(kind: String) throws {
        for name in ["lock", "vault"] {
            let fixture = StoreFixture()
            mkdir(fixture.statePath, 0o700)
            let target = "\(fixture.directory.path)/target"
            Disk.write([1, 2, 3], to: target)
            Plant.place(kind, at: "\(fixture.statePath)/\(name)", target: target)
            #expect(throws: StoreError.self, "\(name)") { try fixture.open() }
            #expect(Disk.read(target) == [1, 2, 3])
        }
    }

    @Test func `the type of a mount is found by its device number`() {
        let table = """
            22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
            36 22 0:49 / /home rw,nosuid shared:7 - nfs4 server:/home rw,vers=4.2
            """
        #expect(MountTable.type(ofDevice: 0x801, in: table) == "ext4")
        #expect(MountTable.type(ofDevice: 49, in: table) == "nfs4")
        #expect(MountTable.type(ofDevice: 50, in: table) == nil)
    }
}

/// Puts things that are no plain file of ours where one is expected.
enum Plant {
    static func place(_ kind: String, at path: String, target: String) {
        switch kind {
        case "symlink": symlink(target, path)
        case "hardlink": link(target, path)
        case "pipe": mkfifo(path, 0o600)
        default: mkdir(path, 0o700)
        }
    }
}
