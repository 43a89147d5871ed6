// SPDX-License-Identifier: MIT

/// When and why a session refreshed, counted since the agent started.
package struct RefreshHistory: Equatable, Sendable {
    package private(set) var refreshes = 0
    package private(set) var failures: [FailureClass: Int] = [:]
    package private(set) var lastRefreshAt: WallTime?
    package private(set) var lastFailure: RefreshFailure?
    package private(set) var lastFailureAt: WallTime?
    /// How far the server's clock is ahead of ours; nothing is decided by it.
    package private(set) var serverClockAhead: Duration?
    /// When the latest failed attempt ended.
    private(set) var lastAttemptEnded: Instant?

    mutating func succeeded(at wallTime: WallTime) {
        refreshes += 1
        lastRefreshAt = wallTime
        lastFailure = nil
        lastFailureAt = nil
        lastAttemptEnded = nil
    }

    /// The server told its time, or did not.
    mutating func heard(serverClockAhead: Duration?) {
        self.serverClockAhead = serverClockAhead ?? self.serverClockAhead
    }

    mutating func failed(_ failure: RefreshFailure, at moment: Moment) {
        failures[failure.kind, default: 0] += 1
        lastFailure = failure
        lastFailureAt = moment.wallTime
        lastAttemptEnded = moment.now
    }
}
