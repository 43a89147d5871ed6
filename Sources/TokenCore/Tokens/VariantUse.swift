// SPDX-License-Identifier: MIT

/// When each token beside the login's own was last asked for, which decides what can go.
struct VariantUse: Equatable, Sendable {
    /// How many tokens a login keeps at most, its own among them.
    ///
    /// Far more than the scopes and audiences of a person's programs. A program that keeps asking for new
    /// ones gets them, but neither memory nor record grows with them.
    static let mostTokens = 32

    private var lastAsked: [TokenVariant: Instant] = [:]

    /// A token of `variant` has been handed out.
    mutating func noteUse(of variant: TokenVariant, at now: Instant) {
        guard variant != .primary else { return }
        lastAsked[variant] = now
    }

    /// Takes tokens out of `login` until it has room: those that have ended, then those unused for longest.
    ///
    /// The login's own token and that of `newest`, which has just come, always stay.
    /// - Returns: the secrets that the login no longer names.
    mutating func makeRoom(
        in login: inout Login,
        besides newest: TokenVariant,
        at now: Instant
    ) -> Set<SecretID> {
        defer { lastAsked = lastAsked.filter { login.tokens[$0.key] != nil } }
        guard login.tokens.count > VariantUse.mostTokens else { return [] }
        let held = login.secrets
        for (variant, token) in login.tokens where mayGo(variant, besides: newest) {
            if let end = token.expiresAt, end <= now { login.tokens[variant] = nil }
        }
        let surplus = login.tokens.count - VariantUse.mostTokens
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

    /// When a token was last used; obtaining it counts as its first use.
    private func lastUse(of held: (key: TokenVariant, value: AccessToken)) -> Instant {
        max(held.value.obtainedAt, lastAsked[held.key] ?? held.value.obtainedAt)
    }
}

extension Login {
    /// Remembers that the server refused `variant`; at most as many refusals are kept as tokens.
    mutating func refuse(_ refusal: Refusal, of variant: TokenVariant, at now: Instant) {
        refusals = refusals.filter { $0.value.until > now }
        if refusals.count >= VariantUse.mostTokens, refusals[variant] == nil,
            let first = refusals.min(by: { $0.value.until < $1.value.until })
        {
            refusals[first.key] = nil
        }
        refusals[variant] = refusal
    }
}
