// SPDX-License-Identifier: MIT

import TokenCore

/// The secrets that requests under way work with; they are erased only afterwards.
///
/// A login may replace a session whose refresh is in flight. The late answer must still be understood, so that what
/// it brings can be given back to the server.
struct SecretReferenceCounts {
    private var users: [SecretID: Int] = [:]
    private var owed: Set<SecretID> = []

    mutating func lend(_ secrets: Set<SecretID>) {
        for secret in secrets { users[secret, default: 0] += 1 }
    }

    /// Ends one use of each secret; returns those to erase now.
    mutating func giveBack(_ secrets: Set<SecretID>) -> [SecretID] {
        var free: [SecretID] = []
        for secret in secrets {
            let left = (users[secret] ?? 1) - 1
            users[secret] = left > 0 ? left : nil
            if left <= 0, owed.remove(secret) != nil { free.append(secret) }
        }
        return free.sorted { $0.rawValue < $1.rawValue }
    }

    /// Whether `secret` may be erased at once; if not, ``giveBack(_:)`` returns it later.
    mutating func mayErase(_ secret: SecretID) -> Bool {
        guard users[secret] != nil else { return true }
        owed.insert(secret)
        return false
    }
}

extension RefreshRequest {
    /// The secrets that are opened to send this request and to judge its answer.
    var secrets: Set<SecretID> {
        var all = Set([idToken, accessToken, proofKey, sources.subject, sources.actor].compactMap(\.self))
        if case .refreshToken(let secret) = renewal { all.insert(secret) }
        return all
    }
}
