// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// The standard input, read only as fast as the messages can be handled.
struct LineInput: Sendable {
    /// `POLLRDHUP` of poll(2), which the headers declare for GNU programs only.
    private static let halfClosed: Int16 = 0x2000

    private let descriptor: Int32
    private let work = BlockingWork(threads: 1)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Waits until no program can write to the input any more, which never happens for a file.
    ///
    /// Unread bytes may remain.
    func waitUntilLeft() async {
        let descriptor = descriptor
        // Needed only for clients that send more than the backlog holds.
        let work = BlockingWork(threads: 1)
        _ = await work.result { () throws(AgentError) in
            // Pipes and terminals always report a hangup. A socket whose other half is still open reports
            // only `POLLRDHUP`.
            var watched = pollfd(fd: descriptor, events: LineInput.halfClosed, revents: 0)
            while unsafe poll(&watched, 1, -1) < 0, errno == EINTR {}
        }
    }

    /// Waits for bytes.
    ///
    /// - Returns: the bytes, or `nil` at the end of the input.
    func read() async -> [UInt8]? {
        let descriptor = descriptor
        let result = await work.result { () throws(AgentError) -> [UInt8] in
            unsafe [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
                repeat {
                    count = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                } while count < 0 && waits(for: descriptor, POLLIN, after: errno)
                count = max(0, count)
            }
        }
        guard case .success(let bytes) = result, !bytes.isEmpty else { return nil }
        return bytes
    }
}

/// The standard output, written one line after the other.
struct LineOutput: Sendable {
    private let descriptor: Int32
    // One thread, so that each line is complete before the next one begins.
    private let work = BlockingWork(threads: 1)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Writes a line, and waits while the client does not read.
    func write(_ line: [UInt8]) async {
        let descriptor = descriptor
        _ = await work.result { () throws(AgentError) in
            unsafe line.withUnsafeBytes { bytes in
                var written = 0
                while written < bytes.count {
                    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
                    let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
                    guard count >= 0 || waits(for: descriptor, POLLOUT, after: errno) else { return }
                    written += max(0, count)
                }
            }
        }
    }
}

/// Returns whether to try again after `error`, which is a signal or a descriptor in non-blocking mode.
private func waits(for descriptor: Int32, _ event: Int32, after error: Int32) -> Bool {
    guard error != EINTR else { return true }
    guard error == EAGAIN || error == EWOULDBLOCK else { return false }
    var wanted = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    return unsafe poll(&wanted, 1, -1) >= 0 || errno == EINTR
}
