// SPDX-License-Identifier: MIT

import Glibc

/// A new directory of this process, locked as long as it lives, and gone with it.
///
/// One that nobody has locked was left behind by a process that was killed: the next one that looks removes it.
package struct LockedDirectory: ~Copyable {
    package let path: String
    private let lock: Int32

    /// Makes a directory, which only this user can enter.
    ///
    /// - Parameters:
    ///   - parent: a directory that nobody else can write.
    ///   - prefix: the beginning of its name.
    /// - Throws: ``AgentError`` if none can be made there.
    package init(in parent: String, named prefix: String = "") throws(AgentError) {
        while true {
            var template = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
            guard unsafe mkdtemp(&template) != nil else {
                throw AgentError(.internal, "cannot make a directory in \(parent): \(systemMessage(errno))")
            }
            let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            let opened = LockedDirectory.open(path)
            guard opened >= 0 || errno == ENOENT else {
                let reason = systemMessage(errno)
                _ = unsafe rmdir(path)
                throw AgentError(.internal, "\(path): \(reason)")
            }
            // Where nothing can be locked, such as on NFS, nothing is taken for a leftover either.
            if opened >= 0, flock(opened, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK,
                unsafe access(path, W_OK) == 0
            {
                self.path = path
                lock = opened
                return
            }
            // Another process has taken it for a leftover before it was locked.
            if opened >= 0 { close(opened) }
        }
    }

    deinit {
        LockedDirectory.remove(path, lock)
        close(lock)
    }

    /// Removes the directories in `parent` that killed processes left, with the files in them.
    ///
    /// - Parameters:
    ///   - parent: a directory that nobody else can write.
    ///   - prefix: the beginning of their names; without one, every name but hidden ones.
    package static func removeLeftovers(in parent: String, named prefix: String = "") {
        guard let listing = unsafe opendir(parent) else { return }
        defer { unsafe closedir(listing) }
        for name in unsafe names(in: listing) where name.hasPrefix(prefix) {
            guard !prefix.isEmpty || !name.hasPrefix(".") else { continue }
            let path = parent + "/" + name
            let opened = LockedDirectory.open(path)
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

    /// Opens a directory that is no link.
    private static func open(_ path: String) -> Int32 {
        unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }

    /// Removes a directory that `opened` has locked, with the files in it.
    private static func remove(_ path: String, _ opened: Int32) {
        // Closing the listing closes its descriptor, and the lock goes with the last one.
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
