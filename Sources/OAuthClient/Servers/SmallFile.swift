// SPDX-License-Identifier: MIT

import Glibc
import Text

/// Reads small configuration files.
enum SmallFile {
    struct Failure: Error {
        var message: String
    }

    /// Bytes; no secret or CA bundle in use is larger.
    static let limit = 1 << 20

    /// All bytes of the file at `path`.
    static func read(_ path: String) throws(Failure) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Failure(message: SystemError.openText(path)) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        defer { chunk.wipe() }
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            }
            guard count >= 0 else { throw Failure(message: SystemError.text(errno)) }
            guard count > 0 else { return bytes }
            guard bytes.count + count <= limit else { throw Failure(message: "is larger than 1 MiB") }
            bytes.append(contentsOf: chunk[..<count])
        }
    }
}

/// The system's words for its error numbers.
enum SystemError {
    static func text(_ number: Int32) -> String {
        guard let message = unsafe strerror(number) else { return "error \(number)" }
        return unsafe String(cString: message)
    }

    /// Why `path` could not be opened, by the value of errno.
    ///
    /// `access` checks the file's mode only: if that allows it, the agent's own confinement refused.
    static func openText(_ path: String) -> String {
        let reason = errno
        guard reason == EACCES, unsafe access(path, R_OK) == 0 else { return text(reason) }
        return "is outside what the agent may read since its start; restart it"
    }
}
