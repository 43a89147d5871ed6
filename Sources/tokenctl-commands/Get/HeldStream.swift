// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// What curl writes to one descriptor, kept back until it is let through.
struct HeldStream: ~Copyable {
    private static let chunk = 65_536

    private(set) var pipe: Pipe
    private(set) var held: [UInt8] = []
    private(set) var hasEnded = false
    /// Why something could not be let through; 0: everything was.
    private(set) var passingError: Int32 = 0

    init() throws(AgentError) {
        pipe = try Pipe()
    }

    /// What poll(2) shall watch; -1 after the end.
    var descriptor: Int32 { hasEnded ? -1 : pipe.reading }

    /// Reads what is there, without waiting.
    mutating func read() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: HeldStream.chunk)
        let count = unsafe Glibc.read(pipe.reading, &bytes, bytes.count)
        if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { hasEnded = true }
        bytes.removeLast(bytes.count - max(0, count))
        return bytes
    }

    mutating func hold(_ bytes: [UInt8]) {
        held += bytes
    }

    /// What is held, and no more from now on.
    mutating func take() -> [UInt8] {
        defer { held = [] }
        return held
    }

    /// Writes what is held and `bytes` to `target`; when the reader has gone, curl learns it at its next write.
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
