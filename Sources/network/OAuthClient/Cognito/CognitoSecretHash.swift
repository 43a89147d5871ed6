// SPDX-License-Identifier: MIT

import Crypto
import SecretMemory
import Text
import TokenCore

/// The `SECRET_HASH`, a client's proof of its secret for one user name.
enum CognitoSecretHash {
    /// Returns Base64 of HMAC-SHA-256 of the user name and client ID, with the secret as the key.
    static func compute(username: String, clientID: String, secret: UnsafeRawBufferPointer) -> String {
        var hash = unsafe HMAC<SHA256>(key: SymmetricKey(data: secret))
        hash.update(data: Array(username.utf8))
        hash.update(data: Array(clientID.utf8))
        return Base64.encoded(hash.finalize())
    }

    /// Returns the hash with a sealed secret, or `nil` for a public client.
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
