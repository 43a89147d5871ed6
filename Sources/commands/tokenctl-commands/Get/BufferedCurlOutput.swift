// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// The output of curl on one descriptor, held back until it is released.
struct BufferedCurlOutput: ~Copyable {
    private static let chunk = 65_536

    private(set) var pipe: Pipe
    private(set) var held: [UInt8] = []
    private(set) var hasEnded = false
    /// The error number of a failed write to the target, or 0.
    private(set) var passingError: Int32 = 0

    init() throws(AgentError) {
        pipe = try Pipe()
    }

    /// The descriptor for poll(2), or -1 after the end.
    var descriptor: Int32 { hasEnded ? -1 : pipe.reading }

    /// Reads the available bytes without waiting.
    mutating func read() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: BufferedCurlOutput.chunk)
        let count = unsafe Glibc.read(pipe.reading, &bytes, bytes.count)
        if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { hasEnded = true }
        bytes.removeLast(bytes.count - max(0, count))
        return bytes
    }

    mutating func hold(_ bytes: [UInt8]) {
        held += bytes
    }

    /// Returns the held bytes and empties the buffer.
    mutating func take() -> [UInt8] {
        defer { held = [] }
        return held
    }

    /// Writes the held bytes and `bytes` to `target`.
    ///
    /// After an error, the pipe is closed, so curl gets an error at its next write.
    mutating func pass(_ bytes: [UInt8] = [], to target: Int32) {
        let all = held + bytes
        held = []
        let error = unsafe all.withUnsafeBytes { unsafe writeAll($0, to: target) }
        guard error != 0 else { return }
        passingError = error
        pipe.closeReading()
        hasEnded = true
    }

    mutating func closeWriting() {
        pipe.closeWriting()
    }
}
