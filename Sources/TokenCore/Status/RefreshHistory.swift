// SPDX-License-Identifier: MIT

/// When and why a session refreshed, counted since the agent started.
package struct RefreshHistory: Equatable, Sendable {
    package private(set) var refreshes = 0
    package private(set) var failures: [FailureClass: Int] = [:]
    package private(set) var lastRefreshAt: WallTime?
    /// Why the last refresh that worked was made.
    package private(set) var lastRefreshReason: RefreshReason?
    package private(set) var lastFailure: RefreshFailure?
    package private(set) var lastFailureAt: WallTime?
    /// Why the refresh that failed last was made; `nil`: what failed was a login without a person.
    package private(set) var lastFailedReason: RefreshReason?
    /// How far the server's clock is ahead of ours; only for showing.
    package private(set) var serverClockAhead: Duration?
    /// When the latest failed attempt ended.
    private(set) var lastAttemptEnded: Instant?

    mutating func succeeded(for reason: RefreshReason, at wallTime: WallTime) {
        refreshes += 1
        lastRefreshReason = reason
        lastRefreshAt = wallTime
        renewed()
    }

    /// There are new tokens: what went wrong before is over.
    mutating func renewed() {
        lastFailure = nil
        lastFailureAt = nil
        lastFailedReason = nil
        lastAttemptEnded = nil
    }

    /// The server told its time, or did not.
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
