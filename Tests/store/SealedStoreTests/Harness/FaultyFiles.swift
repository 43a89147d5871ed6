// SPDX-License-Identifier: MIT

import Glibc
import Synchronization
import SystemCalls

@testable import SealedStore

/// The real system calls, except that selected ones fail.
final class FaultyFiles: FileOperations {
    /// Which calls fail.
    enum Plan: Equatable {
        case none
        /// Nothing fails and nothing is flushed, for tests that only need many records quickly.
        case unflushed
        /// Only the call with this number, from 1.
        case only(Int, code: Int32)
        /// That call and every one after it.
        case from(Int, code: Int32)
        /// The first calls of this name.
        case firstCalls(String, count: Int, code: Int32)
        /// Every call of this name.
        case every(String, code: Int32)
    }

    private struct State {
        var plan = Plan.none
        var count = 0
        var failures = 0
        var log: [String] = []
    }

    private let real = SystemFileOperations()
    private let state = Mutex(State())

    func arm(_ plan: Plan) {
        state.withLock { $0 = State(plan: plan) }
    }

    /// The number of calls that were made to fail since ``arm(_:)``.
    var failures: Int { state.withLock(\.failures) }
    /// The names of the calls since ``arm(_:)``.
    var log: [String] { state.withLock(\.log) }

    private func pass(_ call: String) throws(StoreFileError) {
        let code: Int32? = state.withLock { state in
            state.count += 1
            state.log.append(call)
            let code: Int32? =
                switch state.plan {
                case .none, .unflushed: nil
                case .only(let number, let code): state.count == number ? code : nil
                case .from(let number, let code): state.count >= number ? code : nil
                case .firstCalls(let name, let count, let code):
                    name == call && state.failures < count ? code : nil
                case .every(let name, let code): name == call ? code : nil
                }
            if code != nil { state.failures += 1 }
            return code
        }
        if let code { throw .system(SystemCallError(call: call, code: code)) }
    }

    func open(_ name: String, in directory: Int32, flags: Int32) throws(StoreFileError) -> Int32 {
        try pass("open")
        return try real.open(name, in: directory, flags: flags)
    }

    func close(_ file: Int32) { real.close(file) }

    func status(of file: Int32) throws(StoreFileError) -> FileStatus {
        try pass("fstat")
        return try real.status(of: file)
    }

    func status(of name: String, in directory: Int32) throws(StoreFileError) -> FileStatus {
        try pass("fstatat")
        return try real.status(of: name, in: directory)
    }

    func setMode(of file: Int32, to mode: UInt32) throws(StoreFileError) {
        try pass("fchmod")
        try real.setMode(of: file, to: mode)
    }

    func allocate(_ file: Int32, count: Int) throws(StoreFileError) {
        try pass("fallocate")
        try real.allocate(file, count: count)
    }

    func resize(_ file: Int32, to count: Int) throws(StoreFileError) {
        try pass("ftruncate")
        try real.resize(file, to: count)
    }

    func write(
        _ bytes: UnsafeRawBufferPointer,
        to file: Int32,
        at offset: Int
    ) throws(StoreFileError) -> Int {
        try pass("pwrite")
        return try real.write(bytes, to: file, at: offset)
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer,
        from file: Int32,
        at offset: Int
    ) throws(StoreFileError) -> Int {
        try pass("pread")
        return try real.read(into: buffer, from: file, at: offset)
    }

    func synchronize(_ file: Int32) throws(StoreFileError) {
        try pass("fsync")
        guard state.withLock({ $0.plan != .unflushed }) else { return }
        try real.synchronize(file)
    }

    func rename(_ name: String, to newName: String, in directory: Int32) throws(StoreFileError) {
        try pass("rename")
        try real.rename(name, to: newName, in: directory)
    }

    func unlink(_ name: String, in directory: Int32) throws(StoreFileError) {
        try pass("unlink")
        try real.unlink(name, in: directory)
    }

    func names(in directory: Int32) throws(StoreFileError) -> [String] {
        try pass("readdir")
        return try real.names(in: directory)
    }
}
