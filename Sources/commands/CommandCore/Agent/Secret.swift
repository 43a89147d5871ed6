// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// A password, passphrase or token for the agent, wiped at its last use.
package struct Secret: ~Copyable {
    /// The maximum size in bytes: 32 KiB, half of the largest request that the agent accepts.
    package static let longest = 32_768

    private var bytes: [UInt8]

    /// Takes ownership of `bytes`, which must be UTF-8 without control characters.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the bytes are empty, too long or not one line
    ///   of UTF-8.
    package init(_ bytes: consuming [UInt8], of kind: String) throws(AgentError) {
        self.bytes = bytes
        guard !self.bytes.isEmpty else {
            throw AgentError(.badRequest, "the \(kind) is empty", remedy: .retry("with the \(kind)"))
        }
        guard self.bytes.count <= Secret.longest else {
            throw AgentError(.badRequest, "the \(kind) is longer than \(Secret.longest) bytes")
        }
        guard self.bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
            String(validating: self.bytes, as: UTF8.self) != nil
        else { throw AgentError(.badRequest, "the \(kind) is not one line of UTF-8 text") }
    }

    deinit {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
        }
    }

    package static func == (left: borrowing Secret, right: borrowing Secret) -> Bool {
        left.bytes == right.bytes
    }

    /// Appends the secret to `output` as a JSON string.
    package borrowing func write(to output: inout [UInt8]) {
        JSONStringWriter.write(bytes, to: &output)
    }
}
