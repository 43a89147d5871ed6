// SPDX-License-Identifier: MIT

import Synchronization

/// The newest `DPoP-Nonce` of each authorization server (RFC 9449 §8.2), by origin.
final class ProofNonces: Sendable {
    /// Real ones are below 100 bytes.
    private static let longest = 512

    private let newest = Mutex<[String: String]>([:])

    subscript(url: EndpointURL) -> String? {
        newest.withLock { $0[url.origin] }
    }

    /// Keeps the nonce that came with a reply of `url`, if one did.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    func keep(from reply: HTTPReply, of url: EndpointURL) -> Bool {
        guard let nonce = reply.header("dpop-nonce"), (1...ProofNonces.longest).contains(nonce.utf8.count),
            nonce.utf8.allSatisfy(\.isNonceByte)
        else { return false }
        newest.withLock { $0[url.origin] = nonce }
        return true
    }
}

extension UInt8 {
    /// `NQCHAR` (RFC 6749 appendix A), of which a nonce consists (RFC 9449 §8.1).
    fileprivate var isNonceByte: Bool {
        self == 0x21 || (0x23...0x5B).contains(self) || (0x5D...0x7E).contains(self)
    }
}
