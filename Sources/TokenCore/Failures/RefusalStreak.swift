// SPDX-License-Identifier: MIT

/// Refusals without a reason in a row: from when on they are as good as an answer.
///
/// A server may only refuse early refreshes, so what counts is said when the access token has expired: then two refusals
/// 30 s apart, and three in all over at least a minute. No earlier does a login end with them.
struct RefusalStreak: Equatable, Sendable {
    private(set) var count = 0
    private(set) var first: Instant?
    /// How many of them came when there was no good access token any more.
    private(set) var countAfterExpiry = 0
    private var firstAfterExpiry: Instant?

    /// One more; `expiry`: when the access token that is served ends, `nil` if there is none.
    mutating func add(at now: Instant, expiry: Instant?) {
        count += 1
        first = first ?? now
        if let expiry, now < expiry { return }
        countAfterExpiry += 1
        firstAfterExpiry = firstAfterExpiry ?? now
    }

    /// Whether they count as the server's answer.
    func isFinal(at now: Instant) -> Bool {
        guard let first, let firstAfterExpiry else { return false }
        return count >= 3 && now - first >= .seconds(60)
            && countAfterExpiry >= 2 && now - firstAfterExpiry >= .seconds(30)
    }
}
