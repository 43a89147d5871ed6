// SPDX-License-Identifier: MIT

import Glibc
import Synchronization

/// SHA-256 of executables, each read once for each state of its file.
final class DigestCache: Sendable {
    /// More than anybody names in rules; then the cache starts anew.
    private static let capacity = 256

    private let known = Mutex<[FileIdentity: String]>([:])

    /// The digest of the open file `descriptor`, which is closed, in hexadecimal digits; `nil` if it cannot be read.
    func digest(of file: FileIdentity, opening descriptor: @autoclosure () -> Int32?) -> String? {
        if let digest = known.withLock({ $0[file] }) { return digest }
        guard let descriptor = descriptor() else { return nil }
        defer { close(descriptor) }
        guard let bytes = SHA256.digest(ofFile: descriptor) else { return nil }
        let digest = bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        known.withLock { known in
            if known.count >= DigestCache.capacity { known = [:] }
            known[file] = digest
        }
        return digest
    }
}
