// SPDX-License-Identifier: MIT

import Glibc
import TestSupport

extension TemporaryDirectory {
    /// A new one, for fixtures that are made where nothing may fail.
    static var fresh: TemporaryDirectory { made(in: nil) }

    /// One that waits for no disk, if there is a place for it.
    static var inMemory: TemporaryDirectory { made(in: memory) }

    private static func made(in parent: String?) -> TemporaryDirectory {
        do {
            return try TemporaryDirectory(in: parent)
        } catch {
            fatalError("\(error)")
        }
    }
}

/// Plain file access for tests, outside the store.
enum Disk {
    static func names(_ path: String) -> [String] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                pread(file, $0.baseAddress?.advanced(by: done), $0.count - done, done)
            }
            guard count > 0 else { return nil }
            done += count
        }
        return bytes
    }

    static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard file >= 0 else { fatalError("\(path): \(errno)") }
        defer { close(file) }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(file, $0.baseAddress?.advanced(by: done), $0.count - done)
            }
            guard count > 0 else { fatalError("\(path): \(errno)") }
            done += count
        }
    }

    /// Copies a directory tree of plain files.
    static func copy(_ source: String, to target: String) {
        var status = stat()
        guard lstat(source, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            if let bytes = read(source) { write(bytes, to: target) }
            return
        }
        mkdir(target, 0o700)
        for name in names(source) { copy("\(source)/\(name)", to: "\(target)/\(name)") }
    }
}
