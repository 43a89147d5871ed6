// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory
import SystemCalls

/// A key file outside the store, named by an absolute path.
///
/// Files of root are accepted too, because service managers provide them. Symbolic links are not followed.
enum ExternalKeyFile {
    /// Reads a whole file, whose size must be in `sizes`, into guarded memory.
    static func read(
        _ path: String,
        sizes: ClosedRange<Int>,
        files: any FileOperations
    ) throws(StoreFileError) -> GuardedBytes {
        try contents(of: try open(path, files), sizes: sizes)
    }

    /// Reads a whole open file into guarded memory.
    static func contents(of file: OpenFile, sizes: ClosedRange<Int>) throws(StoreFileError) -> GuardedBytes {
        let size = try file.status().size
        guard sizes.contains(size) else { throw .wrongSize(size, sizes) }
        let bytes: GuardedBytes
        do throws(SealedMemoryError) {
            bytes = try GuardedBytes(count: size)
        } catch {
            throw .system(SystemCallError(call: "mmap", code: ENOMEM))
        }
        let count = try unsafe bytes.write { buffer throws(StoreFileError) in
            try unsafe file.read(into: buffer, at: 0)
        }
        guard count == size else { throw .untrusted("it changed while it was read") }
        return bytes
    }

    private static func open(_ path: String, _ files: any FileOperations) throws(StoreFileError) -> OpenFile {
        let file = OpenFile(descriptor: try open(path, O_RDONLY, files), files: files)
        let status = try file.status()
        guard status.kind == .regular else { throw .untrusted("it is not a regular file") }
        guard status.owner == geteuid() || status.owner == 0 else {
            throw .untrusted("it belongs to uid \(status.owner)")
        }
        guard status.mode & (status.owner == geteuid() ? 0o077 : 0o037) == 0 else {
            throw .untrusted("its mode \(String(status.mode, radix: 8)) allows access by others")
        }
        return file
    }

    /// Creates the file `path` with `bytes`, durably; it must not exist and is removed if writing fails.
    static func create(
        _ path: String,
        _ bytes: GuardedBytes,
        files: any FileOperations
    ) throws(StoreFileError) {
        let parent = try openParent(of: path, files)
        let descriptor = try open(path, O_RDWR | O_CREAT | O_EXCL, files)
        do throws(StoreFileError) {
            try write(bytes, to: OpenFile(descriptor: descriptor, files: files))
            try parent.synchronize()
        } catch {
            remove(path, files: files)
            throw error
        }
    }

    /// Replaces the files at these paths, durably.
    ///
    /// Each file is replaced atomically, in order, and none before all are written.
    static func replace(
        _ replacements: [(path: String, bytes: GuardedBytes)],
        files: any FileOperations
    ) throws(StoreFileError) {
        var written: [(parent: OpenDirectory, name: String)] = []
        defer { for file in written { try? file.parent.unlink(file.name + ".tmp") } }
        for (path, bytes) in replacements {
            let parent = try openParent(of: path, files)
            let name = String(path.split(separator: "/").last ?? "")
            let file = try parent.create(name + ".tmp")
            written.append((parent, name))
            try write(bytes, to: file)
        }
        for (parent, name) in written { try parent.rename(name + ".tmp", to: name) }
        for (parent, _) in written { try parent.synchronize() }
    }

    /// Removes the file `path`, ignoring errors.
    static func remove(_ path: String, files: any FileOperations) {
        try? files.unlink(path, in: AT_FDCWD)
    }

    /// Writes `bytes` into a new file.
    static func write(_ bytes: GuardedBytes, to file: OpenFile) throws(StoreFileError) {
        try unsafe bytes.read { bytes throws(StoreFileError) in try unsafe file.write(bytes, at: 0) }
        try file.synchronize()
    }

    /// Locks the directory of `path` against other processes that change its files, waiting if necessary.
    ///
    /// The lock lasts while the returned directory exists.
    static func lockParent(
        of path: String,
        files: any FileOperations
    ) throws(StoreFileError) -> OpenDirectory {
        let parent = try openParent(of: path, files)
        while flock(parent.descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw .system(.latest("flock")) }
        }
        return parent
    }

    private static func openParent(
        of path: String,
        _ files: any FileOperations
    ) throws(StoreFileError) -> OpenDirectory {
        let parent = parent(of: path)
        let descriptor = try open(parent, O_RDONLY | O_DIRECTORY, files)
        return OpenDirectory(path: parent, descriptor: descriptor, files: files)
    }

    /// Opens `path`, which must be absolute.
    private static func open(
        _ path: String,
        _ flags: Int32,
        _ files: any FileOperations
    ) throws(StoreFileError) -> Int32 {
        guard path.utf8.first == UInt8(ascii: "/") else { throw .untrusted("its path is not absolute") }
        do throws(StoreFileError) {
            return try files.open(path, in: AT_FDCWD, flags: flags)
        } catch {
            throw error.ofOpening
        }
    }

    /// Runs `body` for the file at `path`.
    ///
    /// - Throws: ``StoreFileError/sandboxed`` if the agent's sandbox denied access.
    static func inSandbox<Result>(
        _ path: String,
        creating: Bool = false,
        _ body: () throws(StoreFileError) -> Result
    ) throws(StoreFileError) -> Result {
        do throws(StoreFileError) {
            return try body()
        } catch {
            guard error.code == EACCES, isClosedOff(path, creating: creating)
            else { throw error }
            throw .sandboxed
        }
    }

    /// Returns whether the sandbox denied access, and not the mode of the file or of its directory.
    private static func isClosedOff(_ path: String, creating: Bool) -> Bool {
        guard creating else { return unsafe access(path, R_OK) == 0 }
        return unsafe access(parent(of: path), W_OK) == 0
    }

    /// Returns the directory of `path`.
    private static func parent(of path: String) -> String {
        "/" + path.split(separator: "/").dropLast().joined(separator: "/")
    }
}
