// SPDX-License-Identifier: MIT

import TokenCore

/// A session with what the agent, not the state machine, needs to know about it.
struct KeptSession {
    var session: Session
    var settings: SessionSettings
    var counts = SessionCounts()
    /// Who asked for the logout that is under way.
    var logouts: [Connection] = []
    /// Refusals that alone mean nothing.
    var bareRefusals = BareRefusals()
    /// The session's files are to be removed, which has failed so far.
    var owesForget = false
}

/// What happened to a session since the agent started, for the metrics.
struct SessionCounts: Equatable, Sendable {
    /// Requests answered with a token.
    var served = 0
    /// Requests answered with a failure, by its code.
    var refused: [String: Int] = [:]
    /// Requests that joined a refresh somebody else had started.
    var coalesced = 0
    /// Refreshes that worked, by why they were made.
    var refreshes: [RefreshReason: Int] = [:]
    /// Refreshes that failed, by why they were made.
    var failedRefreshes: [RefreshReason: Int] = [:]
    /// The same failures by their class.
    var failures: [FailureClass: Int] = [:]
}
