// SPDX-License-Identifier: MIT

/// Consecutive rejections without a reason, and the point at which they count as final.
///
/// A server may only reject early refreshes, so rejections after the expiry of the access token decide: at
/// least two of them, 30 s apart, and at least three in all over at least a minute. A login does not end with
/// them earlier.
struct RejectionStreak: Equatable, Sendable {
    private(set) var count = 0
    private(set) var first: Instant?
    /// The number of rejections after the access token had expired.
    private(set) var countAfterExpiry = 0
    private var firstAfterExpiry: Instant?

    /// Adds a rejection.
    ///
    /// - Parameters:
    ///   - now: the time of the rejection.
    ///   - expiry: the expiry of the served access token, or `nil` if none is served.
    mutating func add(at now: Instant, expiry: Instant?) {
        count += 1
        first = first ?? now
        if let expiry, now < expiry { return }
        countAfterExpiry += 1
        firstAfterExpiry = firstAfterExpiry ?? now
    }

    /// Returns whether the rejections count as the server's final response.
    func isFinal(at now: Instant) -> Bool {
        guard let first, let firstAfterExpiry else { return false }
        return count >= 3 && now - first >= .seconds(60)
            && countAfterExpiry >= 2 && now - firstAfterExpiry >= .seconds(30)
    }
}
