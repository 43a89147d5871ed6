// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// The newest `DPoP-Nonce` of each authorization server (RFC 9449 §8.2), by origin.
final class ProofNonces: Sendable {
    private let newest = Mutex<[String: String]>([:])

    subscript(url: EndpointURL) -> String? {
        newest.withLock { $0[url.origin] }
    }

    /// Keeps the nonce that came with a reply of `url`, if one did.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    func remember(from reply: ServerResponse, of url: EndpointURL) -> Bool {
        guard let nonce = reply.header("dpop-nonce"), ProofRequest.isNonce(nonce) else { return false }
        newest.withLock { $0[url.origin] = nonce }
        return true
    }
}
