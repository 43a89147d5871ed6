// SPDX-License-Identifier: MIT

import TokenCore

/// A session with what the agent, not the state machine, needs to know about it.
struct KeptSession {
    var session: Session
    var settings: SessionSettings
    var counts = SessionCounts()
}

extension Session {
    /// The session as the store has it, or a new one if the store has none.
    init(_ content: StoredSession.Content?, name: SessionName, policy: SessionPolicy, at moment: Moment) {
        switch content {
        case .record(let snapshot, let interrupted):
            self.init(restoring: snapshot, name: name, policy: policy, interrupted: interrupted, at: moment)
        case .lost(let reason, let message):
            self.init(lost: reason, message: message, name: name, policy: policy)
        case nil:
            self.init(name: name, policy: policy)
        }
    }
}

/// What happened to a session since the agent started, for the metrics.
struct SessionCounts: Equatable, Sendable {
    /// Requests answered with a token.
    var served = 0
    /// Requests answered with a failure, by its code.
    var refused: [String: Int] = [:]
    /// Requests that joined a refresh somebody else had started.
    var coalesced = 0
    /// Refreshes that worked, by their reason.
    var refreshes: [RefreshReason: Int] = [:]
    /// Refreshes that failed, by their reason.
    var failedRefreshes: [RefreshReason: Int] = [:]
    /// The same failures by their class.
    var failures: [FailureClass: Int] = [:]
}
