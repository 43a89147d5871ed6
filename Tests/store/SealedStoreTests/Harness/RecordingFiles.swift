// SPDX-License-Identifier: MIT

import Glibc
import Synchronization

@testable import SealedStore

/// The real system calls, noting everything that changes the disk.
final class RecordingFiles: FileOperations {
    /// One change; files are known by inode, directories by path.
    enum Change: Equatable {
        case create(directory: String, name: String, inode: UInt64)
        case write(inode: UInt64, offset: Int, bytes: [UInt8])
        case resize(inode: UInt64, count: Int)
        case rename(directory: String, name: String, newName: String)
        case unlink(directory: String, name: String)
        case flushFile(inode: UInt64)
        case flushDirectory(String)
    }

    private let real = SystemFileOperations()
    private let log = Mutex<[Change]>([])

    var changes: [Change] { log.withLock(\.self) }

    private func note(_ change: Change) { log.withLock { $0.append(change) } }

    private func inode(_ file: Int32) -> UInt64 { (try? real.status(of: file).inode) ?? 0 }

    private func path(_ directory: Int32) -> String {
        guard let path = realpath("/proc/self/fd/\(directory)", nil) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }

    func open(_ name: String, in directory: Int32, flags: Int32) throws(StoreFileError) -> Int32 {
        let file = try real.open(name, in: directory, flags: flags)
        if flags & O_EXCL != 0 { note(.create(directory: path(directory), name: name, inode: inode(file))) }
        return file
    }

    func close(_ file: Int32) { real.close(file) }
    func status(of file: Int32) throws(StoreFileError) -> FileStatus { try real.status(of: file) }

    func status(of name: String, in directory: Int32) throws(StoreFileError) -> FileStatus {
        try real.status(of: name, in: directory)
    }

    func setMode(of file: Int32, to mode: UInt32) throws(StoreFileError) {
        try real.setMode(of: file, to: mode)
    }

    func allocate(_ file: Int32, count: Int) throws(StoreFileError) {
        try real.allocate(file, count: count)
        note(.resize(inode: inode(file), count: count))
    }

    func resize(_ file: Int32, to count: Int) throws(StoreFileError) {
        try real.resize(file, to: count)
        note(.resize(inode: inode(file), count: count))
    }

    func write(
        _ bytes: UnsafeRawBufferPointer,
        to file: Int32,
        at offset: Int
    ) throws(StoreFileError) -> Int {
        note(.write(inode: inode(file), offset: offset, bytes: Array(bytes)))
        return try real.write(bytes, to: file, at: offset)
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer,
        from file: Int32,
        at offset: Int
    ) throws(StoreFileError) -> Int {
        try real.read(into: buffer, from: file, at: offset)
    }

    func synchronize(_ file: Int32) throws(StoreFileError) {
        try real.synchronize(file)
        let isDirectory = try real.status(of: file).kind == .directory
        note(isDirectory ? .flushDirectory(path(file)) : .flushFile(inode: inode(file)))
    }

    func rename(_ name: String, to newName: String, in directory: Int32) throws(StoreFileError) {
        try real.rename(name, to: newName, in: directory)
        note(.rename(directory: path(directory), name: name, newName: newName))
    }

    func unlink(_ name: String, in directory: Int32) throws(StoreFileError) {
        try real.unlink(name, in: directory)
        note(.unlink(directory: path(directory), name: name))
    }

    func names(in directory: Int32) throws(StoreFileError) -> [String] { try real.names(in: directory) }
}
