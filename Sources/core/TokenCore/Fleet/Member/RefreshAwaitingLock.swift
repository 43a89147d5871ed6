// SPDX-License-Identifier: MIT

/// A session's request to refresh.
struct RefreshAwaitingLock: Hashable, Sendable {
    let attempt: AttemptID
    /// The expiry of the access token, or `nil` if it has none or nobody is served with it.
    ///
    /// It is by this host's clock, because etcd's time may not be known yet.
    let expiry: Instant?
    /// Whether the session was told that another host is refreshing.
    private(set) var isHeld = false
    /// The earliest time at which this host may request the lock that another host had, or `nil` for at once.
    private(set) var turn: Instant?
    /// The number of times that this host has chosen a time to request the lock.
    private(set) var turns = 0

    init(attempt: AttemptID, expiry: Instant?) {
        self.attempt = attempt
        self.expiry = expiry
    }

    /// Records that another host is refreshing.
    mutating func hold() {
        isHeld = true
        turn = nil
    }

    /// Chooses the time at which this host requests the lock that has become free, so that waiting hosts
    /// continue one by one.
    ///
    /// The turns are drawn from the attempts, within 2, 4, 8, … seconds. However many hosts wait and however
    /// slow etcd is, the turns become so far apart that one host has the lock before the next one requests
    /// it.
    ///
    /// - Parameters:
    ///   - longest: the maximum wait.
    ///   - now: the current time.
    mutating func takeTurn(within longest: Duration, at now: Instant) {
        guard isHeld, turn == nil else { return }
        let width = min(longest, .seconds(2) * (1 << min(turns, 20)))
        turn = now + width * attempt.share
        turns += 1
    }
}

extension AttemptID {
    /// A number in `0..<1`, drawn with the attempt and so different for each host and each attempt.
    var share: Double { Double(random >> 11) / Double(1 << 53) }
}
