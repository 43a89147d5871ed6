// SPDX-License-Identifier: MIT

import TokenCore

/// A connection that reads `GET /v1/events`, or follows `GET /v1/audit`.
struct Subscriber {
    var connection: Connection
    /// The session whose events are sent, or `nil` for all sessions.
    var session: SessionName?

    func wants(_ event: AgentEvent) -> Bool {
        session == nil || event.session == nil || event.session == session
    }
}
