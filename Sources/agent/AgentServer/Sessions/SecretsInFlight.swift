// SPDX-License-Identifier: MIT

import TokenCore

/// Reference counts of secrets used by requests in flight; a secret is erased when its count reaches zero.
///
/// A login may replace a session whose refresh is in flight. The late response must still be readable, so
/// that its tokens can be revoked.
struct SecretsInFlight {
    private var users: [SecretID: Int] = [:]
    private var pending: Set<SecretID> = []

    /// Increments the count of each secret.
    mutating func retain(_ secrets: Set<SecretID>) {
        for secret in secrets { users[secret, default: 0] += 1 }
    }

    /// Decrements the count of each secret.
    ///
    /// - Returns: The secrets to erase now.
    mutating func release(_ secrets: Set<SecretID>) -> [SecretID] {
        var free: [SecretID] = []
        for secret in secrets {
            let left = (users[secret] ?? 1) - 1
            users[secret] = left > 0 ? left : nil
            if left <= 0, pending.remove(secret) != nil { free.append(secret) }
        }
        return free.sorted { $0.rawValue < $1.rawValue }
    }

    /// Returns whether `secret` may be erased now; if not, a later ``release(_:)`` returns it.
    mutating func mayErase(_ secret: SecretID) -> Bool {
        guard users[secret] != nil else { return true }
        pending.insert(secret)
        return false
    }
}

extension RefreshRequest {
    /// The secrets that are read to send this request and to process its response.
    var secrets: Set<SecretID> {
        let all = [renewal.refreshToken, idToken, accessToken, proofKey, sources.subject, sources.actor]
        return Set(all.compactMap(\.self))
    }
}
