// SPDX-License-Identifier: MIT

/// Whether the tokens of one login stay good beside each other, learned from what servers do.
///
/// Some authorization servers keep one good access token for each login: a new one, even of another scope,
/// ends the earlier ones.
package enum TokenCoexistence: UInt8, Sendable {
    /// Nobody can tell yet: after a new token the others are renewed when next asked for.
    case unknown = 0
    /// A token that was handed out after a newer one had come was not refused.
    case proven = 1
    /// Such a token was refused.
    case disproven = 2
}

extension Login {
    /// The token of an answer that renews `variant`; a token that was refused before stays refused.
    func successor(of variant: TokenVariant, _ granted: GrantedTokens, jitter: Double) -> AccessToken {
        var token = AccessToken(
            granted,
            for: variant,
            replacing: tokens[variant] ?? primary,
            isRenewable: renewal != .impossible,
            jitter: jitter
        )
        if let replaced = tokens[variant], replaced.isRefused {
            token.refusedBefore = replaced.refusedBefore + 1
        }
        if let fingerprint = granted.fingerprint, refused.contains(fingerprint) {
            token.refusedBefore = max(1, token.refusedBefore)
            token.standing = .refused(isRepeat: true)
        }
        return token
    }

    /// A new token of `variant` has come with a new refresh token: the server may have ended the others.
    mutating func markOthersDoubtful(besides variant: TokenVariant) {
        guard coexistence != .proven else { return }
        for other in tokens.keys where other != variant && isOfKnownAge(other) {
            tokens[other]?.standing = .doubtful
        }
    }

    /// Whether other tokens decide if servers take the token of `variant`.
    private func isOfKnownAge(_ variant: TokenVariant) -> Bool {
        tokens[variant].map { !$0.isRefused && $0.standing != .possiblyExpired } ?? false
    }

    /// Puts a doubtful token on trial for a caller who reports refusals, so that something is learned.
    mutating func beginTrial(_ variant: TokenVariant, at now: Instant) {
        guard coexistence == .unknown, tokens[variant]?.standing == .doubtful else { return }
        tokens[variant]?.standing = .onTrial(since: now)
    }

    /// A token on trial that was not refused for a while shows that this server's tokens live side by side.
    mutating func concludeTrials(at now: Instant) {
        let isShown = tokens.values.contains { token in
            guard case .onTrial(let since) = token.standing else { return false }
            return now - since >= RetrySchedule.trial
        }
        guard isShown else { return }
        coexistence = .proven
        for variant in tokens.keys where isOfKnownAge(variant) { tokens[variant]?.standing = .good }
    }

    /// A server refused `secret`: it is never handed out again.
    mutating func refuse(_ secret: SecretID, _ fingerprint: TokenFingerprint?, at now: Instant) {
        for variant in tokens.keys where tokens[variant]?.secret == secret {
            switch tokens[variant]?.standing {
            case .doubtful, .onTrial: coexistence = .disproven
            case .good, .possiblyExpired, .refused, nil: break
            }
            tokens[variant]?.refuse(at: now)
        }
        if let fingerprint { refused.add(fingerprint) }
    }
}
