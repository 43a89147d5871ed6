// SPDX-License-Identifier: MIT

/// Why a refresh was made, as a stable word for log, events, status and metrics.
package enum RefreshReason: String, CaseIterable, Sendable {
    /// Its planned time had come, or a refusal was checked; a retry has the reason of the first try.
    case due
    /// A request for a token was not satisfied by the present one.
    case asked
    /// A server had refused the present token.
    case refusedToken = "refused_token"
    /// The agent started and found it overdue, or interrupted.
    case start
    /// The network came back, so what could not be sent was tried at once.
    case networkBack = "network_back"
    /// A person asked for it by name, or corrected the configuration.
    case person
}
