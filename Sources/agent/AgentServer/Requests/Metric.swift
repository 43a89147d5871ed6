// SPDX-License-Identifier: MIT

import TokenCore

/// The metrics in the Prometheus text exposition format, version 0.0.4.
struct MetricsText {
    private(set) var text = ""

    mutating func addAgent(uptime: Duration, waiters: Int, logins: Int) {
        family("tokenagent_uptime_seconds", "gauge", "Seconds since the agent started.")
        sample("tokenagent_uptime_seconds", [], uptime.wholeSeconds)
        family("tokenagent_waiting_requests", "gauge", "Token requests that wait for a refresh.")
        sample("tokenagent_waiting_requests", [], Int64(waiters))
        family("tokenagent_logins_in_progress", "gauge", "Interactive logins in progress.")
        sample("tokenagent_logins_in_progress", [], Int64(logins))
    }

    mutating func add(_ sessions: [SessionEntry], at moment: Moment) {
        let rows = sessions.map { (name: $0.session.name.description, kept: $0, status: $0.session.status) }
        family("tokenagent_gets_total", "counter", "Token requests by result.")
        for row in rows { addGets(row.name, row.kept.counts) }
        family("tokenagent_coalesced_total", "counter", "Token requests that shared a refresh in flight.")
        for row in rows {
            sample("tokenagent_coalesced_total", [("session", row.name)], Int64(row.kept.counts.coalesced))
        }
        family("tokenagent_refreshes_total", "counter", "Refresh attempts by result and reason.")
        for row in rows { addRefreshes(row.name, row.kept.counts) }
        family("tokenagent_refresh_failures_total", "counter", "Failed refresh attempts by class.")
        for row in rows { addFailures(row.name, row.kept.counts) }
        family("tokenagent_waiters", "gauge", "Token requests that wait for a refresh, by session.")
        for row in rows { sample("tokenagent_waiters", [("session", row.name)], Int64(row.status.waiters)) }
        family("tokenagent_session_state", "gauge", "1 for the state the session is in.")
        for row in rows { addState(row.name, row.status) }
        family("tokenagent_token_expires_in_seconds", "gauge", "Remaining validity of the access token.")
        for row in rows { addLife(row.name, row.status, at: moment) }
        family("tokenagent_session_age_seconds", "gauge", "Seconds since the login.")
        for row in rows { addAge(row.name, row.status, at: moment) }
    }

    mutating func addFleet(isStoreOpen: Bool, _ generations: [(session: String, generation: UInt64)]) {
        family("tokenagent_fleet_up", "gauge", "1 while the fleet's etcd is reachable.")
        sample("tokenagent_fleet_up", [], isStoreOpen ? 1 : 0)
        family("tokenagent_fleet_generation", "gauge", "Refreshes of a shared session since its login.")
        for row in generations {
            sample("tokenagent_fleet_generation", [("session", row.session)], Int64(clamping: row.generation))
        }
    }

    private mutating func addGets(_ name: String, _ counts: SessionCounters) {
        sample("tokenagent_gets_total", [("session", name), ("result", "ok")], Int64(counts.served))
        for (code, count) in counts.refused.sorted(by: { $0.key < $1.key }) {
            sample("tokenagent_gets_total", [("session", name), ("result", code)], Int64(count))
        }
    }

    private mutating func addRefreshes(_ name: String, _ counts: SessionCounters) {
        for (result, counts) in [("ok", counts.refreshes), ("failed", counts.failedRefreshes)] {
            for (reason, count) in counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                let labels = [("session", name), ("result", result), ("reason", reason.rawValue)]
                sample("tokenagent_refreshes_total", labels, Int64(count))
            }
        }
    }

    private mutating func addFailures(_ name: String, _ counts: SessionCounters) {
        for (kind, count) in counts.failures.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let labels = [("session", name), ("class", kind.rawValue)]
            sample("tokenagent_refresh_failures_total", labels, Int64(count))
        }
    }

    private mutating func addState(_ name: String, _ status: SessionStatus) {
        for state in SessionStatus.State.allCases {
            let labels = [("session", name), ("state", state.rawValue)]
            sample("tokenagent_session_state", labels, state == status.state ? 1 : 0)
        }
    }

    private mutating func addLife(_ name: String, _ status: SessionStatus, at moment: Moment) {
        guard let expiresAt = status.tokenExpiresAt else { return }
        let life = max(0, (expiresAt - moment.now).wholeSeconds)
        sample("tokenagent_token_expires_in_seconds", [("session", name)], life)
    }

    private mutating func addAge(_ name: String, _ status: SessionStatus, at moment: Moment) {
        guard let loggedInAt = status.loggedInAt else { return }
        let age = max(0, (moment.now - loggedInAt).wholeSeconds)
        sample("tokenagent_session_age_seconds", [("session", name)], age)
    }

    private mutating func family(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    /// Appends a sample.
    ///
    /// Label values are session names and constants, so none needs an escape.
    private mutating func sample(_ name: String, _ labels: [(name: String, value: String)], _ value: Int64) {
        let list = labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
        text += list.isEmpty ? "\(name) \(value)\n" : "\(name){\(list)} \(value)\n"
    }
}
