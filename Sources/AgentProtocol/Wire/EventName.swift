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
}
