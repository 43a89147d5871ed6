// SPDX-License-Identifier: MIT

/// Why a session is logged out, as a stable word for programs.
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
    /// The server has forgotten the client that the agent registered with it.
    case clientUnknown = "client_unknown"
    /// What the tokens come from, another session or a program, wants a person to log in there.
    case sourceEnded = "source_ended"
}

/// Who ended a login, as a stable word for programs.
package enum LoginEnder: String, Sendable {
    case person
    case server
}

/// What follows from the end of a login, in every place that asks.
struct EndConsequences: Equatable, Sendable {
    /// Logging in again without a person could help.
    var allowsSilentLogin = false
    /// An access token that outlives the login may still be handed out.
    var leavesTokensGood = false
    /// The refresh token is tried again every hour: some servers refuse for a while without a reason.
    var isAskedAgain = false
    /// `nil`: neither, its time was over or this host ended it.
    var endedBy: LoginEnder?
}

extension EndReason {
    var consequences: EndConsequences {
        switch self {
        case .grantDead, .replyLost, .interactionRequired:
            EndConsequences(allowsSilentLogin: true, leavesTokensGood: true, endedBy: .server)
        case .refreshTokenExpired, .noRefreshToken, .sessionTooOld:
            EndConsequences(allowsSilentLogin: true, leavesTokensGood: true)
        case .sourceEnded: EndConsequences(leavesTokensGood: true)
        case .refusedWithoutReason, .clientUnknown:
            EndConsequences(
                allowsSilentLogin: true,
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
