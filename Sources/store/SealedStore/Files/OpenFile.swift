// SPDX-License-Identifier: MIT

import Glibc
import SystemCalls

/// An open file of the store, closed when the last reference is released.
final class OpenFile: Sendable {
    let descriptor: Int32
    private let files: any FileOperations

    init(descriptor: Int32, files: any FileOperations) {
        self.descriptor = descriptor
        self.files = files
    }

    deinit {
        files.close(descriptor)
    }

    func status() throws(StoreFileError) -> FileStatus {
        try files.status(of: descriptor)
    }

    func allocate(_ count: Int) throws(StoreFileError) {
        try files.allocate(descriptor, count: count)
    }

    func resize(to count: Int) throws(StoreFileError) {
        try files.resize(descriptor, to: count)
    }

    func synchronize() throws(StoreFileError) {
        try files.synchronize(descriptor)
    }

    /// Writes all of `bytes` at `offset`.
    func write(_ bytes: [UInt8], at offset: Int) throws(StoreFileError) {
        try unsafe bytes.span.bytes.withUnsafeBytes { bytes throws(StoreFileError) in
            try unsafe write(bytes, at: offset)
        }
    }

    /// Writes all of `bytes` at `offset`.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StoreFileError) {
        var done = 0
        while done < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = try unsafe files.write(rest, to: descriptor, at: offset + done)
            guard count > 0 else { throw .system(SystemCallError(call: "pwrite", code: EIO)) }
            done += count
        }
    }

    /// Fills `buffer` from `offset` on and returns the number of bytes read, which is less at the end of the
    /// file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreFileError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try unsafe files.read(into: rest, from: descriptor, at: offset + done)
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Reads the bytes `offset ..< offset + count`, fewer at the end of the file.
    func read(count: Int, at offset: Int) throws(StoreFileError) -> [UInt8] {
        var failure: StoreFileError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(StoreFileError) {
                filled = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }
}
