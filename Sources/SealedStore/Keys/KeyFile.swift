// SPDX-License-Identifier: MIT

import CSodium
import Glibc

/// A file of random bytes that opens the vault without a person.
enum KeyFile {
    /// The key file inside the state directory.
    static let defaultName = "keyfile"
    static let minimumCount = 32
    /// More is not a key but a mistake.
    static let maximumCount = 8192

    /// Reads the key file at the absolute `path`, or the default one of `directory`.
    static func read(_ path: String?, in directory: OpenDirectory) throws(StoreError) -> GuardedBytes {
        let shown = path ?? directory.path(of: defaultName)
        do throws(FileFault) {
            let file = try open(path, in: directory)
            let size = try OpenDirectory.checked { () throws(SystemCallError) in try file.status().size }
            guard (minimumCount...maximumCount).contains(size) else {
                throw .untrusted("it has \(size) bytes instead of \(minimumCount) to \(maximumCount)")
            }
            return try read(file, size)
        } catch {
            if error == .missing { throw .keyFileMissing(path: shown) }
            throw .keyFileUnusable(path: shown, reason: error.description)
        }
    }

    private static func read(_ file: OpenFile, _ size: Int) throws(FileFault) -> GuardedBytes {
        let bytes: GuardedBytes
        do throws(SealedMemoryError) {
            bytes = try GuardedBytes(count: size)
        } catch {
            throw .system(SystemCallError(call: "mmap", code: ENOMEM))
        }
        let count = try OpenDirectory.checked { () throws(SystemCallError) in
            try unsafe bytes.write { buffer throws(SystemCallError) in
                try unsafe file.read(into: buffer, at: 0)
            }
        }
        guard count == size else { throw .untrusted("it changed while it was read") }
        return bytes
    }

    /// Makes sure that there is a key file, creating one of 32 random bytes, and reads it.
    static func readOrCreate(_ path: String?, in directory: OpenDirectory) throws(StoreError) -> GuardedBytes
    {
        do throws(StoreError) {
            return try read(path, in: directory)
        } catch {
            guard case .keyFileMissing(let shown) = error else { throw error }
            do throws(FileFault) {
                try create(path, in: directory)
            } catch {
                throw .keyFileUnusable(path: shown, reason: error.description)
            }
        }
        return try read(path, in: directory)
    }

    private static func create(_ path: String?, in directory: OpenDirectory) throws(FileFault) {
        let secret: GuardedBytes
        do throws(SealedMemoryError) {
            secret = try GuardedBytes(count: minimumCount)
        } catch {
            throw .system(SystemCallError(call: "mmap", code: ENOMEM))
        }
        secret.randomize()
        let file = try createFile(path, in: directory)
        try OpenDirectory.checked { () throws(SystemCallError) in
            try unsafe secret.read { bytes throws(SystemCallError) in try unsafe file.write(bytes, at: 0) }
            try file.synchronize()
        }
        try path == nil ? directory.synchronize() : synchronizeParent(of: path ?? "/", directory.files)
    }

    /// Opens a key file outside the store: root's are accepted too, as service managers hand them out.
    private static func open(_ path: String?, in directory: OpenDirectory) throws(FileFault) -> OpenFile {
        guard let path else { return try directory.open(defaultName) }
        let files = directory.files
        let file = OpenFile(descriptor: try openAbsolute(path, O_RDONLY, files), files: files)
        let status = try OpenDirectory.checked { () throws(SystemCallError) in try file.status() }
        guard status.kind == .regular else { throw .untrusted("it is not a regular file") }
        guard status.owner == geteuid() || status.owner == 0 else {
            throw .untrusted("it belongs to uid \(status.owner)")
        }
        guard status.mode & (status.owner == geteuid() ? 0o077 : 0o037) == 0 else {
            throw .untrusted("its mode \(String(status.mode, radix: 8)) lets others in")
        }
        return file
    }

    private static func createFile(_ path: String?, in directory: OpenDirectory) throws(FileFault) -> OpenFile
    {
        guard let path else { return try directory.create(defaultName) }
        let descriptor = try openAbsolute(path, O_RDWR | O_CREAT | O_EXCL, directory.files)
        return OpenFile(descriptor: descriptor, files: directory.files)
    }

    private static func synchronizeParent(of path: String, _ files: any FileOperations) throws(FileFault) {
        let parent = path.split(separator: "/").dropLast().joined(separator: "/")
        let directory = OpenFile(
            descriptor: try openAbsolute("/" + parent, O_RDONLY | O_DIRECTORY, files),
            files: files
        )
        try OpenDirectory.checked { () throws(SystemCallError) in try directory.synchronize() }
    }

    private static func openAbsolute(
        _ path: String,
        _ flags: Int32,
        _ files: any FileOperations
    ) throws(FileFault) -> Int32 {
        guard path.hasPrefix("/") else { throw .untrusted("its path is not absolute") }
        do throws(SystemCallError) {
            return try files.open(path, in: AT_FDCWD, flags: flags)
        } catch {
            switch error.code {
            case ENOENT: throw .missing
            case ELOOP: throw .untrusted("it is a symbolic link")
            case EACCES where isClosedOff(path, flags): throw .untrusted(closedOff)
            default: throw .system(error)
            }
        }
    }

    private static let closedOff =
        "the agent, confined at its start, cannot reach it; make it, name it as keyfile in [vault], restart"

    /// Whether our confinement refused, not the mode of the file or of the directory it would be made in.
    private static func isClosedOff(_ path: String, _ flags: Int32) -> Bool {
        guard flags & O_CREAT != 0 else { return unsafe access(path, R_OK) == 0 }
        let parent = path.split(separator: "/").dropLast().joined(separator: "/")
        return unsafe access("/" + parent, W_OK) == 0
    }
}
