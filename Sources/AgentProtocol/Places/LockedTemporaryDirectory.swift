// SPDX-License-Identifier: MIT

import Glibc

/// A new directory that is locked while this process uses it, and removed with this value.
///
/// An unlocked directory was left by a killed process, and is removed by the next process that checks.
package struct LockedTemporaryDirectory: ~Copyable {
    package let path: String
    private let lock: Int32

    /// Creates a directory that only this user can enter.
    ///
    /// - Parameters:
    ///   - parent: A directory that no other user can write to.
    ///   - prefix: The beginning of the directory's name.
    /// - Throws: ``AgentError`` if none can be created there.
    package init(in parent: String, named prefix: String = "") throws(AgentError) {
        while true {
            var template = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
            guard unsafe mkdtemp(&template) != nil else {
                throw AgentError(.internal, "cannot create a directory in \(parent): \(systemMessage(errno))")
            }
            let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            let opened = LockedTemporaryDirectory.open(path)
            guard opened >= 0 || errno == ENOENT else {
                let reason = systemMessage(errno)
                _ = unsafe rmdir(path)
                throw AgentError(.internal, "cannot open \(path): \(reason)")
            }
            // Where nothing can be locked, such as on NFS, nothing is removed as a leftover either.
            if opened >= 0, flock(opened, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK,
                unsafe access(path, W_OK) == 0
            {
                self.path = path
                lock = opened
                return
            }
            // Another process has removed the directory as a leftover before it was locked.
            if opened >= 0 { close(opened) }
        }
    }

    deinit {
        LockedTemporaryDirectory.remove(path, lock)
        close(lock)
    }

    /// Removes the directories in `parent` that killed processes left, with the files in them.
    ///
    /// - Parameters:
    ///   - parent: A directory that no other user can write to.
    ///   - prefix: The beginning of their names. If empty, every name except hidden ones.
    package static func removeLeftovers(in parent: String, named prefix: String = "") {
        guard let listing = unsafe opendir(parent) else { return }
        defer { unsafe closedir(listing) }
        for name in unsafe names(in: listing) where name.hasPrefix(prefix) {
            guard !prefix.isEmpty || !name.hasPrefix(".") else { continue }
            let path = parent + "/" + name
            let opened = LockedTemporaryDirectory.open(path)
            guard opened >= 0 else { continue }
            var status = stat()
            if flock(opened, LOCK_EX | LOCK_NB) == 0, unsafe fstat(opened, &status) == 0,
                status.st_uid == geteuid()
            {
                remove(path, opened)
            }
            close(opened)
        }
    }

    /// Opens a directory that is not a symbolic link.
    private static func open(_ path: String) -> Int32 {
        unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }

    /// Removes a directory that `opened` has locked, with the files in it.
    private static func remove(_ path: String, _ opened: Int32) {
        // Closing the listing closes its descriptor, and the lock is released with the last one.
        let another = dup(opened)
        if let listing = unsafe fdopendir(another) {
            for name in unsafe names(in: listing) { _ = unsafe unlinkat(opened, name, 0) }
            unsafe closedir(listing)
        } else if another >= 0 {
            close(another)
        }
        _ = unsafe rmdir(path)
    }

    private static func names(in listing: OpaquePointer) -> [String] {
        var names: [String] = []
        while let entry = unsafe readdir(listing) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
