// SPDX-License-Identifier: MIT

/// What has happened, as `GET /v1/events` and the environment of hooks say it.
package enum EventName: String, CaseIterable, Sendable {
    case refreshed
    case refreshFailed = "refresh_failed"
    case loginRequired = "login_required"
    case expiring
    case loggedIn = "logged_in"
    case loggedOut = "logged_out"
    case locked
    case unlocked
    /// Another configuration is in force, which may have sessions and rules of others.
    case reloaded
    /// The etcd of the fleet cannot be asked.
    case fleetAway = "fleet_away"
    case fleetBack = "fleet_back"
    case vaultChanged = "vault_changed"
}
