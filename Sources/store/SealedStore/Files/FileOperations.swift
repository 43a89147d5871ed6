// SPDX-License-Identifier: MIT

import Glibc

/// The system calls on which the store's files are built; tests use this port to simulate disk failures.
///
/// Names are single path components in an open directory, except in ``ExternalKeyFile``. No call follows a
/// symbolic link.
package protocol FileOperations: Sendable {
    /// Opens `name`, adding `O_NOFOLLOW`, `O_CLOEXEC` and `O_NONBLOCK` to `flags`; a created file gets mode
    /// 0600.
    func open(_ name: String, in directory: Int32, flags: Int32) throws(StoreFileError) -> Int32
    func close(_ file: Int32)
    func status(of file: Int32) throws(StoreFileError) -> FileStatus
    func status(of name: String, in directory: Int32) throws(StoreFileError) -> FileStatus
    func setMode(of file: Int32, to mode: UInt32) throws(StoreFileError)
    /// Allocates disk blocks for the first `count` bytes, so that writing them later cannot fail for lack of
    /// space.
    func allocate(_ file: Int32, count: Int) throws(StoreFileError)
    func resize(_ file: Int32, to count: Int) throws(StoreFileError)
    /// Writes some of `bytes` and returns their number.
    func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int) throws(StoreFileError) -> Int
    /// Fills some of `buffer` and returns the number of bytes; 0 at the end of the file.
    func read(
        into buffer: UnsafeMutableRawBufferPointer,
        from file: Int32,
        at offset: Int
    ) throws(StoreFileError) -> Int
    /// Flushes a file or directory.
    ///
    /// After a failure, never flush the same file again: Linux drops the unwritten pages, and the next call
    /// would wrongly succeed.
    func synchronize(_ file: Int32) throws(StoreFileError)
    func rename(_ name: String, to newName: String, in directory: Int32) throws(StoreFileError)
    func unlink(_ name: String, in directory: Int32) throws(StoreFileError)
    /// Returns every name in the directory except `.` and `..`, in no order.
    func names(in directory: Int32) throws(StoreFileError) -> [String]
}

/// The attributes checked before the store trusts a file.
package struct FileStatus: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case regular
        case directory
        case symbolicLink
        case other
    }

    package var kind: Kind
    package var owner: UInt32
    /// The permission bits, `0o7777`.
    package var mode: UInt32
    var linkCount: Int
    package var size: Int
    package var device: UInt64
    package var inode: UInt64

    init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            default: .other
            }
        owner = status.st_uid
        mode = status.st_mode & 0o7777
        linkCount = Int(status.st_nlink)
        size = Int(status.st_size)
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Returns the reason the store must not use the file, or `nil` if it may.
    ///
    /// A usable file is a regular one that only this user can access, with a single name.
    func fault(owner us: UInt32) -> String? {
        if kind == .symbolicLink { return "it is a symbolic link" }
        if kind != .regular { return "it is not a regular file" }
        if owner != us { return "it belongs to uid \(owner)" }
        if mode & 0o077 != 0 { return "its mode \(String(mode, radix: 8)) allows access by others" }
        if linkCount != 1 { return "it has \(linkCount) names" }
        return nil
    }
}
