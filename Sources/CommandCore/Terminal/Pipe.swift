// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// A pipe of this process, closed with its last use.
package struct Pipe: ~Copyable, Sendable {
    package private(set) var reading: Int32
    package private(set) var writing: Int32

    /// - Parameter isReadByChild: a child gets the reading end, and waits there for what is written.
    /// - Throws: ``AgentError/internal`` where the process may open no more.
    package init(isReadByChild: Bool = false) throws(AgentError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else {
            throw AgentError(.internal, "pipe: \(systemMessage(errno))")
        }
        (reading, writing) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        if !isReadByChild { _ = fcntl(reading, F_SETFL, O_NONBLOCK) }
    }

    deinit {
        if reading >= 0 { close(reading) }
        if writing >= 0 { close(writing) }
    }

    /// Leaves the writing end to the child that inherited it, so that the end of the child ends the stream.
    package mutating func closeWriting() {
        if writing >= 0 { close(writing) }
        writing = -1
    }

    /// Lets the writer know that nobody reads any more.
    package mutating func closeReading() {
        if reading >= 0 { close(reading) }
        reading = -1
    }

    /// Reads until nobody can write any more.
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

    /// What can be read without waiting, at most 4 KiB.
    package borrowing func available() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = unsafe max(0, read(reading, buffer.baseAddress, buffer.count))
        }
    }
}
