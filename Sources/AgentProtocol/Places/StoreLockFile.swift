// SPDX-License-Identifier: MIT

import Glibc
import Text

/// The file that an agent locks while it uses its store, with the number of its process and its socket.
package final class StoreLockFile {
    private let descriptor: Int32

    /// Opens the lock file of the store in `stateDirectory`, or returns `nil` if this process sees none.
    package init?(of stateDirectory: String) {
        descriptor = unsafe open(
            stateDirectory + "/lock",
            O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        )
        guard descriptor >= 0 else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Keeps agents from starting on the store while this value exists.
    ///
    /// - Returns: `false` if an agent uses the store.
    package func share() -> Bool { flock(descriptor, LOCK_SH | LOCK_NB) == 0 }

    /// Whether an agent uses the store.
    package var isHeld: Bool {
        guard share() else { return errno == EWOULDBLOCK }
        flock(descriptor, LOCK_UN)
        return false
    }

    /// The process that holds the lock, or `nil` if the kernel does not show it here, as from another
    /// container.
    package var holder: pid_t? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, let note, isHeld else { return nil }
        let file = unsafe fopen("/proc/locks", "re")
        guard let file = unsafe file else { return nil }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        // "1: FLOCK  ADVISORY  WRITE 77 fe:00:131 0 EOF" (proc_locks(5)).
        while unsafe fgets(&line, Int32(line.count), file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                .split { $0 == " " || $0 == "\n" }
            guard words.count > 5, words[1] == "FLOCK", words[3] == "WRITE", Int32(words[4]) == note.pid,
                words[5].split(separator: ":").last.flatMap({ UInt($0) }) == UInt(status.st_ino)
            else { continue }
            return note.pid
        }
        return nil
    }

    /// The contents written by the agent that holds the lock or held it last, or `nil` if others could have
    /// written them.
    package var note: LockFileContents? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: LockFileContents.maximumCount + 1)
        let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
        return LockFileContents(Array(bytes.prefix(max(0, count))))
    }
}
