// SPDX-License-Identifier: MIT

import TokenCore

/// A peer that reads `GET /v1/events`.
struct Subscriber {
    var connection: Connection
    /// `nil`: the events of all sessions.
    var session: SessionName?

    func wants(_ event: AgentEvent) -> Bool {
        session == nil || event.session == nil || event.session == session
    }
}
