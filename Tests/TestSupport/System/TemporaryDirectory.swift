// SPDX-License-Identifier: MIT

import Glibc
import Synchronization

/// A private directory (0700) that is removed with its contents when the last reference is released or the
/// process ends.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// A directory in memory with at least 1 GiB available, for files that are written often and do not test
    /// disks.
    ///
    /// It is `nil` if there is no such directory, or if the user has set `TMPDIR`.
    package static let memory: String? = {
        let place = "/dev/shm"
        var room = statvfs()
        guard getenv("TMPDIR") == nil, access(place, W_OK) == 0, statvfs(place, &room) == 0 else {
            return nil
        }
        return UInt64(room.f_bavail) * UInt64(room.f_frsize) > 1 << 30 ? place : nil
    }()

    /// Creates a directory under `parent`, by default `$TMPDIR` or `/tmp`.
    package init(in parent: String? = nil) throws {
        let base = parent ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/tokenagent-test-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { mkdtemp($0) != nil } ?? false
        }
        guard made else { throw SystemFailure("mkdtemp in \(base)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        Remaining.note(path)
    }

    deinit { File.removeTree(path) }

    /// Returns the path of `name` in this directory.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Creates the directory `name` (0700) and returns its path.
    @discardableResult
    package func makeDirectory(_ name: String) throws -> String {
        guard mkdir(path(name), 0o700) == 0 || errno == EEXIST else { throw SystemFailure("mkdir \(name)") }
        return path(name)
    }

    /// Writes `text` to the file `name` and returns its path.
    @discardableResult
    package func write(_ text: String, to name: String, mode: mode_t = 0o600) throws -> String {
        try File.write(text, to: path(name), mode: mode)
        return path(name)
    }

    /// Returns the sorted names in the directory `name`.
    package func names(in name: String = ".") -> [String] { File.names(in: path(name)) }
}

/// All temporary directories of this process, which are removed again when the process ends.
///
/// A thread that waits forever may hold a directory, and an agent that was just starting at the end of its
/// test may create its directory again.
private enum Remaining {
    private static let paths: Mutex<Set<String>> = {
        atexit { Remaining.removeAll() }
        return Mutex([])
    }()

    static func note(_ path: String) {
        paths.withLock { _ = $0.insert(path) }
    }

    private static func removeAll() {
        for path in paths.withLock(\.self) { File.removeTree(path) }
    }
}
