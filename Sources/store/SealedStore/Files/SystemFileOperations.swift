// SPDX-License-Identifier: MIT

import Glibc
import SystemCalls

/// The real system calls, restarted when a signal interrupts them.
package struct SystemFileOperations: FileOperations {
    /// The maximum number of names in a directory of the store: a hundred times the maximum number of sessions.
    private static let maximumNames = 1_000_000

    package init() {}

    package func open(_ name: String, in directory: Int32, flags: Int32) throws(StoreFileError) -> Int32 {
        try SystemFileOperations.retrying("openat") {
            unsafe openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        }
    }

    package func close(_ file: Int32) {
        _ = Glibc.close(file)
    }

    package func status(of file: Int32) throws(StoreFileError) -> FileStatus {
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw .latest("fstat") }
        return FileStatus(status)
    }

    package func status(of name: String, in directory: Int32) throws(StoreFileError) -> FileStatus {
        var status = stat()
        guard unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw .latest("fstatat")
        }
        return FileStatus(status)
    }

    package func setMode(of file: Int32, to mode: UInt32) throws(StoreFileError) {
        guard fchmod(file, mode) == 0 else { throw .latest("fchmod") }
    }

    package func allocate(_ file: Int32, count: Int) throws(StoreFileError) {
        refuseCopyOnWrite(file)
        var code = posix_fallocate(file, 0, count)
        while code == EINTR { code = posix_fallocate(file, 0, count) }
        guard code == 0 else { throw .system(SystemCallError(call: "fallocate", code: code)) }
    }

    /// Turns off copy-on-write for an empty file on btrfs.
    ///
    /// Otherwise each change needs new blocks, which a full disk does not have, whatever was allocated. Other
    /// file systems ignore the flag. It also turns off btrfs checksums, which are not needed because the
    /// content is sealed.
    private func refuseCopyOnWrite(_ file: Int32) {
        var flags: Int32 = 0
        guard unsafe ioctl(file, SystemFileOperations.getFlags, &flags) == 0 else { return }
        flags |= SystemFileOperations.noCopyOnWrite
        _ = unsafe ioctl(file, SystemFileOperations.setFlags, &flags)
    }

    /// `FS_IOC_GETFLAGS`, `FS_IOC_SETFLAGS` and `FS_NOCOW_FL` of ioctl_iflags(2), which Swift does not
    /// import.
    private static let getFlags: UInt = 0x8008_6601
    private static let setFlags: UInt = 0x4008_6602
    private static let noCopyOnWrite: Int32 = 0x0080_0000

    package func resize(_ file: Int32, to count: Int) throws(StoreFileError) {
        _ = try SystemFileOperations.retrying("ftruncate") { ftruncate(file, count) }
    }

    package func write(
        _ bytes: UnsafeRawBufferPointer,
        to file: Int32,
        at offset: Int
    ) throws(StoreFileError) -> Int {
        try SystemFileOperations.retrying("pwrite") {
            unsafe pwrite(file, bytes.baseAddress, bytes.count, offset)
        }
    }

    package func read(
        into buffer: UnsafeMutableRawBufferPointer,
        from file: Int32,
        at offset: Int
    ) throws(StoreFileError) -> Int {
        try SystemFileOperations.retrying("pread") {
            unsafe pread(file, buffer.baseAddress, buffer.count, offset)
        }
    }

    package func synchronize(_ file: Int32) throws(StoreFileError) {
        guard fsync(file) == 0 else { throw .latest("fsync") }
    }

    package func rename(_ name: String, to newName: String, in directory: Int32) throws(StoreFileError) {
        guard unsafe renameat(directory, name, directory, newName) == 0 else { throw .latest("renameat") }
    }

    package func unlink(_ name: String, in directory: Int32) throws(StoreFileError) {
        guard unsafe unlinkat(directory, name, 0) == 0 else { throw .latest("unlinkat") }
    }

    package func names(in directory: Int32) throws(StoreFileError) -> [String] {
        do throws(DirectoryListing.Failure) {
            return try DirectoryListing.names(in: directory, atMost: SystemFileOperations.maximumNames)
        } catch {
            switch error {
            case .system(let error): throw .system(error)
            case .tooMany: throw .untrusted("it \(error.message)")
            }
        }
    }

    /// Repeats `call` while a signal interrupts it; negative results are errors.
    static func retrying<Result: SignedInteger>(
        _ name: String,
        _ call: () -> Result
    ) throws(StoreFileError) -> Result {
        while true {
            let result = call()
            if result >= 0 { return result }
            if errno != EINTR { throw .latest(name) }
        }
    }
}
