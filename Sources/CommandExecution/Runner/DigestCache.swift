// SPDX-License-Identifier: MIT

import Glibc
import Synchronization

/// SHA-256 of executables; a file is read again only when it has changed.
final class DigestCache: Sendable {
    /// Most digests kept, more than anybody names in rules; a full cache starts anew.
    private static let capacity = 256

    private let known = Mutex<[FileIdentity: String]>([:])

    /// The digest of `file` in hexadecimal digits; `nil` if it cannot be read.
    ///
    /// `descriptor` is the open file, which is closed afterwards.
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
