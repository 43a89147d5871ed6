// SPDX-License-Identifier: MIT

import CTesting
import Glibc

/// File access for tests.
package enum File {
    /// Returns the whole content, or `nil` if it cannot be read.
    package static func bytes(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            guard count >= 0 else { return nil }
            guard count > 0 else { return content }
            content += chunk[..<count]
        }
    }

    /// Returns ``bytes(_:)`` as text.
    package static func text(_ path: String) -> String? {
        bytes(path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Creates or replaces the file `path`.
    ///
    /// A file with an executable mode can be started at once.
    package static func write(_ text: String, to path: String, mode: mode_t = 0o600) throws {
        try fill(path, with: text, mode)
        // If a program cannot be started yet, a shell uses the next one of that name in PATH.
        if mode & 0o100 != 0 { testing_await_writers(path) }
    }

    private static func fill(_ path: String, with text: String, _ mode: mode_t) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw SystemFailure("open \(path)") }
        defer { close(descriptor) }
        fchmod(descriptor, mode)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw SystemFailure("write \(path)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns the permission bits, or `nil` if there is no file.
    package static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    /// Creates the file of a socket on which no process listens.
    package static func makeSocket(_ path: String) throws {
        guard mknod(path, S_IFSOCK | 0o600, 0) == 0 else { throw SystemFailure("mknod \(path)") }
    }

    /// Creates the symbolic link `path`.
    package static func link(_ path: String, to target: String) throws {
        guard symlink(target, path) == 0 else { throw SystemFailure("symlink \(path)") }
    }

    /// Returns the target of a symbolic link, or `nil` for anything else.
    package static func linkTarget(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &buffer, buffer.count)
        return count < 0
            ? nil : String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    package static func exists(_ path: String) -> Bool { mode(path) != nil }

    /// Returns the sorted names in a directory, or none if it cannot be read.
    package static func names(in path: String) -> [String] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    package static func remove(_ path: String) {
        unlink(path)
    }

    /// Removes `path` and everything below it, without following links.
    package static func removeTree(_ path: String) {
        guard unlink(path) != 0 else { return }
        for name in names(in: path) { removeTree("\(path)/\(name)") }
        rmdir(path)
    }
}

/// Calls `write(2)`, whose name `File.write` hides.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
