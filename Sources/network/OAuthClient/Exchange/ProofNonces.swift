// SPDX-License-Identifier: MIT

import ServerSettings
import Synchronization
import TokenCore

/// The latest `DPoP-Nonce` of each authorization server (RFC 9449 §8.2), by origin.
///
/// Safe to call from any thread.
final class ProofNonces: Sendable {
    private let newest = Mutex<[String: String]>([:])

    subscript(url: EndpointURL) -> String? {
        newest.withLock { $0[url.origin] }
    }

    /// Stores the nonce in a response from `url`.
    ///
    /// - Returns: Whether there was a nonce.
    @discardableResult
    func remember(from reply: ServerResponse, of url: EndpointURL) -> Bool {
        guard let nonce = reply.header("dpop-nonce"), ProofRequest.isNonce(nonce) else { return false }
        newest.withLock { $0[url.origin] = nonce }
        return true
    }
}
