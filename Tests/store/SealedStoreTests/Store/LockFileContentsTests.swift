// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import Text

@testable import SealedStore

/// Who holds a store, as its lock file tells a second start.
struct LockFileContentsTests {
    private let temporary = TemporaryDirectory.fresh
    private var path: String { "\(temporary.path)/state" }
    private var written: [UInt8]? { Disk.read("\(path)/lock") }

    @Test(arguments: ["/run/user/1/agent.sock", "/two\nlines\n", nil])
    func `a note is read as it was written`(socket: String?) {
        let note = LockFileContents(pid: 77, socket: socket)
        #expect(LockFileContents(note.bytes) == note)
    }

    @Test(arguments: [
        ("", LockFileContents?.none), ("77", nil), ("/run/a\n", nil), ("-1\n/run/a\n", nil), ("77 \n", nil),
        ("77\n" + String(repeating: "x", count: 130) + "\n", nil),
        ("77\n", LockFileContents(pid: 77, socket: nil)),
        ("77\n/run/a", LockFileContents(pid: 77, socket: nil)),
        ("77\nrun/a\n", LockFileContents(pid: 77, socket: nil)),
        ("77\n/run/\0a\n", LockFileContents(pid: 77, socket: nil)),
    ])
    func `what is no note names no socket`(text: String, note: LockFileContents?) {
        #expect(LockFileContents(Array(text.utf8)) == note)
    }

    @Test func `bytes that are no text name no socket`() {
        #expect(
            LockFileContents(Array("77\n/".utf8) + [0xFF, 0x0A]) == LockFileContents(pid: 77, socket: nil)
        )
    }

    @Test func `each start replaces the note of the last, and what is written there is nobody else's`() throws
    {
        let first = try StoreDirectory(path, socket: "/run/a/long/way/to/agent.sock")
        #expect(written == LockFileContents(pid: getpid(), socket: "/run/a/long/way/to/agent.sock").bytes)
        first.close()
        Disk.write(Array(repeating: 0xAA, count: 300), to: "\(path)/lock")
        let second = try StoreDirectory(path, socket: "/run/b")
        #expect(written == LockFileContents(pid: getpid(), socket: "/run/b").bytes)
        var status = stat()
        #expect(stat("\(path)/lock", &status) == 0 && status.st_mode & 0o7777 == 0o600)
        // Somebody who is refused changes nothing.
        #expect(throws: StoreError.heldByAnother(path: path, pid: getpid())) {
            try StoreDirectory(path, socket: "/run/c")
        }
        #expect(written == LockFileContents(pid: getpid(), socket: "/run/b").bytes)
        withExtendedLifetime(second) {}
    }
}
