// SPDX-License-Identifier: MIT

import Glibc
import SystemCalls

/// Access to private directories by a path that nobody else can redirect.
///
/// The parents are resolved once and then opened one by one from `/` without following links. Each must
/// belong to root or this user, and must not be writable by others unless it is sticky. The last component
/// must be a directory of this user that is closed to others, and is never reached through a symbolic link.
/// Missing components are created with mode 0700.
enum TrustedPath {
    static func openDirectory(
        _ path: String,
        creating: Bool = true,
        files: any FileOperations = SystemFileOperations()
    ) throws(StoreError) -> OpenDirectory {
        guard path.hasPrefix("/") else { throw .unsafe(path: path, reason: "the path is not absolute") }
        var names = path.split(separator: "/").map(String.init)
        guard let last = names.popLast(), !names.contains(".."), last != ".." else {
            throw .unsafe(path: path, reason: "the path is / or contains ..")
        }
        let parent = try openParent(names, creating: creating)
        defer { close(parent) }
        if creating { try makeDirectory(last, in: parent, path: path) }
        let descriptor = try open(last, in: parent, for: O_RDONLY, path: path)
        let directory = OpenDirectory(path: path, descriptor: descriptor, files: files)
        let found = try status(of: descriptor, path: path)
        guard found.owner == geteuid() else {
            throw .unsafe(path: path, reason: "it belongs to uid \(found.owner)")
        }
        guard found.mode & 0o077 == 0 else {
            throw .unsafe(
                path: path,
                reason: "its mode \(String(found.mode, radix: 8)) allows access by others"
            )
        }
        return directory
    }

    /// Opens a directory directly below an open one, creating it if it is missing.
    static func openDirectory(_ name: String, in directory: OpenDirectory) throws(StoreError) -> OpenDirectory
    {
        let path = directory.path(of: name)
        try makeDirectory(name, in: directory.descriptor, path: path)
        let descriptor = try open(name, in: directory.descriptor, for: O_RDONLY, path: path)
        let opened = OpenDirectory(path: path, descriptor: descriptor, files: directory.files)
        let found = try status(of: descriptor, path: path)
        guard found.owner == geteuid(), found.mode & 0o077 == 0 else {
            throw .unsafe(path: path, reason: "others can use it")
        }
        return opened
    }

    /// The flag for opening a parent, which need not be readable: `/home` may have mode 0711.
    private static let passage = __O_PATH

    private static func openParent(_ names: [String], creating: Bool) throws(StoreError) -> Int32 {
        var current = unsafe Glibc.open("/", passage | O_DIRECTORY | O_CLOEXEC)
        guard current >= 0 else {
            throw .unavailable(path: "/", reason: SystemCallError.latest("open").reason)
        }
        var path = ""
        var fresh = false
        do {
            for name in resolved(names) {
                path += "/" + name
                try checkParent(current, path: path)
                if creating, !fresh { fresh = !exists(name, in: current) }
                if fresh { try makeDirectory(name, in: current, path: path) }
                let next = try open(name, in: current, for: passage, path: path)
                close(current)
                current = next
            }
            try checkParent(current, path: path)
            return current
        } catch {
            close(current)
            throw error
        }
    }

    /// Returns the components after resolving symbolic links among the existing ones.
    private static func resolved(_ names: [String]) -> [String] {
        for count in stride(from: names.count, to: 0, by: -1) {
            let prefix = "/" + names[..<count].joined(separator: "/")
            guard let real = unsafe realpath(prefix, nil) else { continue }
            defer { unsafe free(real) }
            let existing = unsafe String(cString: real).split(separator: "/").map(String.init)
            return existing + names[count...]
        }
        return names
    }

    private static func checkParent(_ descriptor: Int32, path: String) throws(StoreError) {
        let found = try status(of: descriptor, path: path)
        let isSticky = found.mode & UInt32(S_ISVTX) != 0
        guard found.mode & 0o022 == 0 || isSticky else {
            throw .unsafe(path: path, reason: "others can rename files in its parent directory")
        }
        guard found.owner == 0 || found.owner == geteuid() || found.owner == unmappedUser else {
            throw .unsafe(path: path, reason: "its parent directory belongs to uid \(found.owner)")
        }
    }

    /// The uid of root inside a user namespace that does not map it.
    private static let unmappedUser: UInt32 = 65_534

    private static func exists(_ name: String, in directory: Int32) -> Bool {
        unsafe faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT
    }

    private static func makeDirectory(_ name: String, in directory: Int32, path: String) throws(StoreError) {
        if unsafe mkdirat(directory, name, 0o700) == 0 {
            // The umask may have removed even the owner's bits.
            unsafe fchmodat(directory, name, 0o700, 0)
        } else if errno != EEXIST {
            throw .unavailable(path: path, reason: SystemCallError.latest("mkdirat").reason)
        }
    }

    private static func open(
        _ name: String,
        in directory: Int32,
        for access: Int32,
        path: String
    ) throws(StoreError) -> Int32 {
        let descriptor = unsafe openat(directory, name, access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor < 0 else { return descriptor }
        var byte: CChar = 0
        switch errno {
        case ENOTDIR, ELOOP:
            let isLink = unsafe readlinkat(directory, name, &byte, 1) >= 0
            throw .unsafe(path: path, reason: isLink ? "it is a symbolic link" : "it is not a directory")
        default: throw .unavailable(path: path, reason: SystemCallError.latest("openat").reason)
        }
    }

    private static func status(of descriptor: Int32, path: String) throws(StoreError) -> FileStatus {
        do throws(StoreFileError) {
            return try SystemFileOperations().status(of: descriptor)
        } catch {
            throw .unavailable(path: path, reason: error.description)
        }
    }
}
