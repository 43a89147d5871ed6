// SPDX-License-Identifier: MIT

import Crypto
import SealedStore
import Text
import TokenCore

/// `SECRET_HASH`: how a client with a secret proves that it knows it, for one user name.
enum CognitoSecretHash {
    /// Base64 of HMAC-SHA-256 of user name and client identifier under the secret.
    static func compute(username: String, clientID: String, secret: UnsafeRawBufferPointer) -> String {
        var hash = unsafe HMAC<SHA256>(key: SymmetricKey(data: secret))
        hash.update(data: Array(username.utf8))
        hash.update(data: Array(clientID.utf8))
        return Base64.encoded(hash.finalize())
    }

    /// The hash under a sealed secret; `nil` for a public client.
    static func compute(
        username: String,
        clientID: String,
        _ secret: SecretID?,
        in memory: SealedMemory
    ) throws(RefreshFailure) -> String? {
        guard let secret else { return nil }
        do {
            return try unsafe memory.open(secret) {
                unsafe compute(username: username, clientID: clientID, secret: $0)
            }
        } catch {
            throw .locked
        }
    }
}
