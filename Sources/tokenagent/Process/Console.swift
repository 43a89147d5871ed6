// SPDX-License-Identifier: MIT

import Glibc

/// The messages to the user at the terminal, or to the program that started this one.
enum Console {
    /// Writes a line to standard error.
    static func tell(_ line: String) {
        DescriptorIO.write("tokenagent: \(line)\n", to: 2)
    }

    static func tell(_ failure: StartFailure) {
        for line in failure.lines { tell(line) }
    }

    /// Writes `text` to standard output.
    ///
    /// If that fails, the program ends, as a reader must not take a part for the whole.
    static func write(_ text: String) {
        guard DescriptorIO.write(text, to: 1) else { exit(1) }
    }
}

enum DescriptorIO {
    /// Writes all of `text`.
    ///
    /// - Returns: `true` if it was written.
    @discardableResult
    static func write(_ text: String, to descriptor: Int32) -> Bool {
        write(Array(text.utf8), to: descriptor)
    }

    /// Writes all of `bytes`.
    ///
    /// - Returns: `true` if they were written.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Reads everything up to the end of the stream.
    static func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk[..<count]
        }
    }

    /// Redirects standard input, output and error to `/dev/null`, as a background process must not keep them
    /// open.
    static func leaveTerminal() {
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0 else { return }
        for standard: Int32 in 0...2 { dup2(null, standard) }
        if null > 2 { close(null) }
    }
}
