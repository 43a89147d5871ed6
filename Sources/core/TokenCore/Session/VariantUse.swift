// SPDX-License-Identifier: MIT

/// The last use of each token except the login's own, which decides the tokens to remove.
struct VariantUse: Equatable, Sendable {
    /// The maximum number of tokens of a login, including its own.
    ///
    /// The limit is far above the number of scopes and audiences that a user's programs need. A program that
    /// keeps requesting new ones gets them, but neither memory nor record grows with them.
    static let maximumTokens = 32

    private var lastAsked: [TokenVariant: Instant] = [:]

    /// Records that a token of `variant` was served.
    mutating func recordUse(of variant: TokenVariant, at now: Instant) {
        guard variant != .primary else { return }
        lastAsked[variant] = now
    }

    /// Removes tokens from `login` until it has room: expired ones first, then the least recently used.
    ///
    /// The login's own token and the new token of `newest` always stay.
    /// - Returns: the secrets that the login no longer names.
    mutating func makeRoom(
        in login: inout Login,
        besides newest: TokenVariant,
        at now: Instant
    ) -> Set<SecretID> {
        defer { lastAsked = lastAsked.filter { login.tokens[$0.key] != nil } }
        guard login.tokens.count > VariantUse.maximumTokens else { return [] }
        let held = login.secrets
        for (variant, token) in login.tokens where mayGo(variant, besides: newest) {
            if let end = token.expiresAt, end <= now { login.tokens[variant] = nil }
        }
        let surplus = login.tokens.count - VariantUse.maximumTokens
        if surplus > 0 {
            let candidates = login.tokens.filter { mayGo($0.key, besides: newest) }
            let byUse = candidates.sorted { lastUse(of: $0) < lastUse(of: $1) }
            for (variant, _) in byUse.prefix(surplus) { login.tokens[variant] = nil }
        }
        return held.subtracting(login.secrets)
    }

    private func mayGo(_ variant: TokenVariant, besides newest: TokenVariant) -> Bool {
        variant != .primary && variant != newest
    }

    /// Returns the time at which a token was last used.
    ///
    /// Obtaining a token counts as its first use.
    private func lastUse(of held: (key: TokenVariant, value: AccessToken)) -> Instant {
        max(held.value.obtainedAt, lastAsked[held.key] ?? held.value.obtainedAt)
    }
}

extension Login {
    /// Records that the server rejected `variant`.
    ///
    /// The number of rejections has the same limit as that of tokens.
    mutating func refuse(_ refusal: VariantRejection, of variant: TokenVariant, at now: Instant) {
        refusals = refusals.filter { $0.value.until > now }
        if refusals.count >= VariantUse.maximumTokens, refusals[variant] == nil,
            let first = refusals.min(by: { $0.value.until < $1.value.until })
        {
            refusals[first.key] = nil
        }
        refusals[variant] = refusal
    }
}
