// SPDX-License-Identifier: MIT

/// Trials that show whether several tokens of a login can be valid at the same time.
extension Login {
    /// Returns the token of a response that renews `variant`.
    ///
    /// A token that was rejected before stays rejected.
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

    /// Marks the other tokens as doubtful because a token of `variant` was issued with a new refresh token.
    ///
    /// The server may have ended the others.
    mutating func markOthersDoubtful(besides variant: TokenVariant) {
        guard coexistence != .proven else { return }
        for other in tokens.keys where other != variant && isOfKnownAge(other) {
            tokens[other]?.standing = .doubtful
        }
    }

    /// Returns whether other tokens decide if servers accept the token of `variant`.
    private func isOfKnownAge(_ variant: TokenVariant) -> Bool {
        tokens[variant].map { !$0.isRefused && $0.standing != .possiblyExpired } ?? false
    }

    /// Puts a doubtful token on trial for a requester that reports rejections, to learn about the server.
    mutating func beginTrial(_ variant: TokenVariant, at now: Instant) {
        guard coexistence == .unknown, tokens[variant]?.standing == .doubtful else { return }
        tokens[variant]?.standing = .onTrial(since: now)
    }

    /// Ends trials: a token that was not rejected for a while shows that several tokens can be valid at a
    /// time.
    mutating func concludeTrials(at now: Instant) {
        let isShown = tokens.values.contains { token in
            guard case .onTrial(let since) = token.standing else { return false }
            return now - since >= RetrySchedule.trial
        }
        guard isShown else { return }
        coexistence = .proven
        for variant in tokens.keys where isOfKnownAge(variant) { tokens[variant]?.standing = .good }
    }

    /// Records that a server rejected `secret`, which is never served again.
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
