// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// A pipe whose ends are closed at its last use.
package struct Pipe: ~Copyable, Sendable {
    package private(set) var reading: Int32
    package private(set) var writing: Int32

    /// Creates a pipe whose ends close on exec.
    ///
    /// - Parameter isReadByChild: Whether a child gets the reading end and blocks on it; otherwise reads do
    ///   not block.
    /// - Throws: ``AgentError/internal`` if the process cannot open more descriptors.
    package init(isReadByChild: Bool = false) throws(AgentError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else {
            throw AgentError(.internal, "cannot create a pipe: \(systemMessage(errno))")
        }
        (reading, writing) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        if !isReadByChild { _ = fcntl(reading, F_SETFL, O_NONBLOCK) }
    }

    deinit {
        if reading >= 0 { close(reading) }
        if writing >= 0 { close(writing) }
    }

    /// Closes the writing end here, so that the stream ends when the child that inherited it exits.
    package mutating func closeWriting() {
        if writing >= 0 { close(writing) }
        writing = -1
    }

    /// Closes the reading end, so that the writer gets an error.
    package mutating func closeReading() {
        if reading >= 0 { close(reading) }
        reading = -1
    }

    /// Reads until all writing ends are closed.
    package borrowing func all() -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            var wanted = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&wanted, 1, -1) > 0 else { continue }
            let more = available()
            guard !more.isEmpty else { return bytes }
            bytes += more
        }
    }

    /// Returns at most 4 KiB that can be read without waiting.
    package borrowing func available() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = unsafe max(0, read(reading, buffer.baseAddress, buffer.count))
        }
    }
}
