// SPDX-License-Identifier: MIT

/// The reason a session is logged out, as a stable word for programs.
package enum EndReason: String, CaseIterable, Sendable {
    case neverLoggedIn = "never_logged_in"
    case loggedOut = "logged_out"
    case grantDead = "grant_dead"
    case replyLost = "reply_lost"
    case interactionRequired = "interaction_required"
    case refusedWithoutReason = "refused_without_reason"
    case refreshTokenExpired = "refresh_token_expired"
    case sessionTooOld = "session_too_old"
    case noRefreshToken = "no_refresh_token"
    case identityChanged = "identity_changed"
    case recordUnreadable = "record_unreadable"
    case rolledBack = "rolled_back"
    case configurationChanged = "configuration_changed"
    /// The server no longer knows the client that the agent registered there.
    case clientUnknown = "client_unknown"
    /// The source of the tokens, another session or a program, requires the user to log in there.
    case sourceEnded = "source_ended"
}

/// The actor that ended a login, as a stable word for programs.
package enum LoginEndedBy: String, Sendable {
    case person
    case server
}

/// The consequences of a login's end.
struct EndConsequences: Equatable, Sendable {
    /// Whether a noninteractive login could help.
    var allowsNoninteractiveLogin = false
    /// Whether an access token that outlives the login may still be served.
    var leavesTokensGood = false
    /// Whether the refresh token is tried again every hour.
    ///
    /// Some servers reject it for a while without a reason.
    var isAskedAgain = false
    /// The actor that ended the login, or `nil` if the login expired or this host ended it.
    var endedBy: LoginEndedBy?
}

extension EndReason {
    var consequences: EndConsequences {
        switch self {
        case .grantDead, .replyLost, .interactionRequired:
            EndConsequences(allowsNoninteractiveLogin: true, leavesTokensGood: true, endedBy: .server)
        case .refreshTokenExpired, .noRefreshToken, .sessionTooOld:
            EndConsequences(allowsNoninteractiveLogin: true, leavesTokensGood: true)
        case .sourceEnded: EndConsequences(leavesTokensGood: true)
        case .refusedWithoutReason, .clientUnknown:
            EndConsequences(
                allowsNoninteractiveLogin: true,
                leavesTokensGood: true,
                isAskedAgain: true,
                endedBy: .server
            )
        case .loggedOut: EndConsequences(endedBy: .person)
        case .neverLoggedIn, .identityChanged, .recordUnreadable, .rolledBack,
            .configurationChanged:
            EndConsequences()
        }
    }
}
