// SPDX-License-Identifier: MIT

import Glibc
import Synchronization
import SystemCalls

/// A cache of the SHA-256 digests of executables; a file is read again only after it has changed.
final class DigestCache: Sendable {
    /// The maximum number of digests, more than rules ever name; a full cache is emptied.
    private static let capacity = 256

    private let known = Mutex<[FileIdentity: String]>([:])

    /// Finds or computes the digest of `file`.
    ///
    /// - Parameters:
    ///   - file: The identity of the file.
    ///   - descriptor: The open file, evaluated only if the digest is unknown. This function closes it.
    /// - Returns: The digest in hexadecimal digits, or `nil` if the file cannot be read.
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
