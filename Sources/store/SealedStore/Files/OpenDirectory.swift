// SPDX-License-Identifier: MIT

import Glibc

/// A verified directory of this user; its files are accessed through its descriptor.
package final class OpenDirectory: Sendable {
    /// The path, for messages only: it may lead elsewhere by now.
    package let path: String
    let descriptor: Int32
    let files: any FileOperations

    init(path: String, descriptor: Int32, files: any FileOperations) {
        self.path = path
        self.descriptor = descriptor
        self.files = files
    }

    deinit {
        files.close(descriptor)
    }

    func path(of name: String) -> String { "\(path)/\(name)" }

    /// Opens an existing file and checks that it is a regular file of this user.
    func open(_ name: String, writing: Bool = false) throws(StoreFileError) -> OpenFile {
        let file: OpenFile
        do throws(StoreFileError) {
            let flags = writing ? O_RDWR : O_RDONLY
            let opened = try files.open(name, in: descriptor, flags: flags)
            file = OpenFile(descriptor: opened, files: files)
        } catch {
            throw error.ofOpening
        }
        if let fault = try file.status().fault(owner: geteuid()) { throw .untrusted(fault) }
        return file
    }

    /// Creates `name`, which must not exist, after removing a file left by an interrupted write.
    ///
    /// A planted link, pipe or directory is rejected and left alone.
    func create(_ name: String) throws(StoreFileError) -> OpenFile {
        do throws(StoreFileError) {
            return try createExclusively(name)
        } catch {
            guard error.code == EEXIST else { throw error }
            if let fault = try status(of: name).fault(owner: geteuid()) { throw .untrusted(fault) }
            try unlink(name)
            return try createExclusively(name)
        }
    }

    private func createExclusively(_ name: String) throws(StoreFileError) -> OpenFile {
        let opened = try files.open(name, in: descriptor, flags: O_RDWR | O_CREAT | O_EXCL)
        let file = OpenFile(descriptor: opened, files: files)
        // The umask may have removed even the owner's bits.
        if try file.status().mode != 0o600 { try files.setMode(of: opened, to: 0o600) }
        return file
    }

    func status(of name: String) throws(StoreFileError) -> FileStatus {
        do throws(StoreFileError) {
            return try files.status(of: name, in: descriptor)
        } catch {
            throw error.code == ENOENT ? .missing : error
        }
    }

    /// Returns whether anything has this name, even something that must not be used.
    func contains(_ name: String) -> Bool {
        do throws(StoreFileError) {
            _ = try status(of: name)
            return true
        } catch {
            return error != .missing
        }
    }

    func rename(_ name: String, to newName: String) throws(StoreFileError) {
        try files.rename(name, to: newName, in: descriptor)
    }

    /// Removes `name`; it is not an error if it is missing.
    func unlink(_ name: String) throws(StoreFileError) {
        do throws(StoreFileError) {
            try files.unlink(name, in: descriptor)
        } catch {
            if error.code != ENOENT { throw error }
        }
    }

    /// Flushes the names in the directory.
    func synchronize() throws(StoreFileError) {
        try files.synchronize(descriptor)
    }

    func names() throws(StoreFileError) -> [String] {
        try files.names(in: descriptor)
    }

    /// Reads a whole file, of which at most `limit` bytes.
    func contents(of name: String, limit: Int) throws(StoreFileError) -> [UInt8] {
        let file = try open(name)
        return try file.read(count: min(try file.status().size, limit), at: 0)
    }

    /// Replaces `name` by a new file with `bytes`, durably: temporary file, flush, rename, flush.
    func replace(_ name: String, with bytes: [UInt8]) throws(StoreFileError) {
        let temporary = name + ".tmp"
        let file = try create(temporary)
        do throws(StoreFileError) {
            try file.write(bytes, at: 0)
            try file.synchronize()
            try rename(temporary, to: name)
        } catch {
            try? unlink(temporary)
            throw error
        }
        try synchronize()
    }
}
