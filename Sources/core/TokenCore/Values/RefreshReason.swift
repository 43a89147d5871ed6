// SPDX-License-Identifier: MIT

/// The reason for a refresh, as a stable word for log, events, status and metrics.
package enum RefreshReason: String, CaseIterable, Sendable {
    /// The planned time had come, or a rejection was confirmed. A retry has the reason of the first attempt.
    case due
    /// A request for a token was not satisfied by the current one.
    case asked
    /// A server had rejected the current token.
    case refusedToken = "refused_token"
    /// The agent found the refresh overdue or interrupted when it started.
    case start
    /// The network returned, so unsent requests were retried at once.
    case networkBack = "network_back"
    /// The user requested the refresh, or corrected the configuration.
    case person
}
