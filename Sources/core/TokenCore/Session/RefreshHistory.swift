// SPDX-License-Identifier: MIT

/// The refreshes of a session since the agent started.
package struct RefreshHistory: Equatable, Sendable {
    package private(set) var refreshes = 0
    package private(set) var failures: [FailureClass: Int] = [:]
    package private(set) var lastRefreshAt: WallTime?
    /// The reason for the last successful refresh.
    package private(set) var lastRefreshReason: RefreshReason?
    package private(set) var lastFailure: RefreshFailure?
    package private(set) var lastFailureAt: WallTime?
    /// The reason for the last failed refresh, or `nil` if a noninteractive login failed.
    package private(set) var lastFailedReason: RefreshReason?
    /// The time by which the server's clock is ahead of the local clock.
    ///
    /// For display only.
    package private(set) var serverClockAhead: Duration?
    /// The time at which the latest failed attempt ended.
    private(set) var lastAttemptEnded: Instant?

    mutating func succeeded(for reason: RefreshReason, at wallTime: WallTime) {
        refreshes += 1
        lastRefreshReason = reason
        lastRefreshAt = wallTime
        renewed()
    }

    /// Clears the last failure because there are new tokens.
    mutating func renewed() {
        lastFailure = nil
        lastFailureAt = nil
        lastFailedReason = nil
        lastAttemptEnded = nil
    }

    /// Records the offset of the server's clock if the response stated it.
    mutating func heard(serverClockAhead: Duration?) {
        self.serverClockAhead = serverClockAhead ?? self.serverClockAhead
    }

    mutating func failed(_ failure: RefreshFailure, for reason: RefreshReason?, at moment: Moment) {
        lastFailedReason = reason
        failures[failure.kind, default: 0] += 1
        lastFailure = failure
        lastFailureAt = moment.wallTime
        lastAttemptEnded = moment.now
    }
}
