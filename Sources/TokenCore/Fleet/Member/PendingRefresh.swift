// SPDX-License-Identifier: MIT

/// A session wants to refresh.
struct PendingRefresh: Hashable, Sendable {
    let attempt: AttemptID
    /// When the access token ends, by this host's clock, as etcd's may not have been heard yet; `nil`: never, or nobody is
    /// served with it.
    let expiry: Instant?
    /// It was told that another host is at it.
    private(set) var isHeld = false
    /// When this host may ask for the lock that another one had; `nil`: at once.
    private(set) var turn: Instant?
    /// How often it has had to take one.
    private(set) var turns = 0

    init(attempt: AttemptID, expiry: Instant?) {
        self.attempt = attempt
        self.expiry = expiry
    }

    /// Another host is at it.
    mutating func hold() {
        isHeld = true
        turn = nil
    }

    /// The lock is free: those who waited for it come one by one, at moments that their attempts draw.
    ///
    /// Within 2, 4, 8, … seconds: however many they are and however slow etcd is, they come to lie so far apart that one
    /// has the lock before the next one asks for it.
    ///
    /// - Parameters:
    ///   - longest: how long it may wait at most.
    ///   - now: now.
    mutating func takeTurn(within longest: Duration, at now: Instant) {
        guard isHeld, turn == nil else { return }
        let width = min(longest, .seconds(2) * (1 << min(turns, 20)))
        turn = now + width * attempt.share
        turns += 1
    }
}

extension AttemptID {
    /// In `0..<1`: drawn with the attempt, and so another one for each host and each attempt.
    var share: Double { Double(random >> 11) / Double(1 << 53) }
}
