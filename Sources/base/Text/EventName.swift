// SPDX-License-Identifier: MIT

/// The name of an event in `GET /v1/events` and in the environment of hooks.
package enum EventName: String, CaseIterable, Sendable {
    case refreshed
    case refreshFailed = "refresh_failed"
    case loginRequired = "login_required"
    case expiring
    case loggedIn = "logged_in"
    case loggedOut = "logged_out"
    case locked
    case unlocked
    /// Another configuration is active, which may have other sessions and rules.
    case reloaded
    /// The fleet's etcd cannot be reached.
    case fleetAway = "fleet_away"
    case fleetBack = "fleet_back"
    case vaultChanged = "vault_changed"

    /// The line in the log about an event of a session.
    package struct LogLine: Sendable {
        package var text: String
        package var isWarning = false
        /// The name of the value with the seconds until the event's expiry, or `nil` if the line has none.
        package var lifetime: String?
    }

    /// The line in the log, or `nil` if the part of the agent where the event happens writes one.
    package var logLine: LogLine? {
        switch self {
        case .refreshed: LogLine(text: "refreshed", lifetime: "expires_in")
        case .loginRequired: LogLine(text: "login required", isWarning: true)
        case .expiring: LogLine(text: "login expires soon", isWarning: true, lifetime: "ends_in")
        case .loggedIn: LogLine(text: "logged in")
        case .loggedOut: LogLine(text: "logged out")
        case .refreshFailed, .locked, .unlocked, .reloaded, .fleetAway, .fleetBack, .vaultChanged: nil
        }
    }
}
