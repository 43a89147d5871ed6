// SPDX-License-Identifier: MIT

import Text

/// The state of a session as shown to users and programs.
///
/// ``Session/status`` creates it from the session's state, history and tokens. It contains no secrets and no
/// identifiers of secrets.
package struct SessionStatus: Equatable, Sendable {
    /// The public states, spelled as in status responses.
    package enum State: String, CaseIterable, Sendable {
        case loggedOut = "logged_out"
        case loggingIn = "logging_in"
        case ready
        case refreshing
        case retrying
        case suspended
    }

    package var name: SessionName
    package var state: State
    /// The reason the session is logged out.
    package var reason: EndReason?
    /// The actor that ended the login.
    package var endedBy: LoginEndedBy?
    package var endedAt: WallTime?
    /// The current failure or explanation, for the user.
    package var message: String?
    package var tokenExpiresAt: Instant?
    package var scope: [String]
    package var nextRefreshAt: Instant?
    package var refreshExpiresAt: Instant?
    /// The earliest known moment at which the user has to log in again.
    package var loginEndsAt: Instant?
    /// The moment from which to warn the user about ``loginEndsAt``, unless refreshes extend it.
    package var noticeAt: Instant?
    package var maximumAge: Duration?
    package var loggedInAt: Instant?
    /// The wall-clock time of ``loggedInAt``, as shown at that moment.
    package var loggedInTime: WallTime?
    package var rotation: RotationHabit?
    package var subject: String?
    package var account: String?
    package var keptMembers: [String: String]
    package var storage: CommitDurability
    package var waiters: Int
    package var history: RefreshHistory
    /// The step that helps, if there is one.
    package var remedy: Remedy?
    /// Whether there is an ID token for the login's own token.
    package var hasIDToken: Bool
    /// Whether the login can be renewed with a refresh token.
    package var hasRefreshToken: Bool
    /// The server's name for the type of the login's own token, if it differs from the served one.
    package var serverTokenType: String?
    /// Warnings about the tokens that are served.
    package var remarks: [GrantWarning]
}

extension Session {
    /// The current state of the session, for display.
    package var status: SessionStatus {
        let shown = login ?? servable
        let hasBegun = shown.map { !$0.isWithoutTokens } ?? false
        return SessionStatus(
            name: name,
            state: shownState,
            reason: ended?.reason,
            endedBy: ended?.reason.consequences.endedBy,
            endedAt: ended?.at,
            message: message,
            tokenExpiresAt: login?.primary.flatMap { $0.isRefused ? nil : $0.expiresAt },
            scope: shown?.primary?.scope ?? [],
            nextRefreshAt: nextRefreshAt,
            refreshExpiresAt: login?.end?.at,
            loginEndsAt: login.flatMap(shownEnd(of:)),
            noticeAt: login.flatMap(noticeTime(of:)),
            maximumAge: policy.maximumSessionAge,
            loggedInAt: hasBegun ? shown?.loggedInAt : nil,
            loggedInTime: hasBegun ? shown?.loggedInTime : nil,
            rotation: shown?.rotation,
            subject: shown?.subject,
            account: shown?.account,
            keptMembers: shown?.keptMembers ?? [:],
            storage: storage.outcome,
            waiters: waiters.byID.count,
            history: history,
            remedy: remedy,
            hasIDToken: shown?.primary?.idToken != nil,
            hasRefreshToken: shown?.hasRefreshToken ?? false,
            serverTokenType: shown?.primary?.serverTokenType,
            remarks: shown?.allRemarks ?? []
        )
    }

    private var message: String? {
        if let ended { return ended.message }
        let why = unavailabilityReason ?? hindrance?.message ?? history.lastFailure?.message
        guard let login, login.isWithoutTokens else { return why }
        let nothing = "no token obtained yet"
        return why.map { "\(nothing): \($0)" } ?? nothing
    }

    private var ended: EndedLogin? {
        switch state {
        case .loggedOut(let ended), .probing(let ended, _, _), .reauthenticating(let ended, _): ended
        case .ready, .refreshing, .retrying, .suspended: nil
        }
    }

    /// The failure that delays the next refresh.
    package var hindrance: RefreshFailure? {
        if case .retrying(_, let setback) = state { return setback.latest }
        return if case .suspended(_, let suspension) = state { suspension.failure } else { nil }
    }

    private var shownState: SessionStatus.State {
        switch state {
        case .loggedOut, .probing: progress == nil ? .loggedOut : .loggingIn
        case .reauthenticating: .loggingIn
        case .ready: .ready
        case .refreshing: unavailabilityReason == nil ? .refreshing : .retrying
        case .retrying: .retrying
        case .suspended: .suspended
        }
    }

    private var nextRefreshAt: Instant? {
        switch state {
        case .ready(let login):
            return dueTime(of: login)
        case .retrying(_, let setback): return setback.nextTry
        case .suspended(_, let suspension): return suspension.retryAt
        case .loggedOut, .probing, .reauthenticating, .refreshing: return nil
        }
    }

    private var remedy: Remedy? {
        switch state {
        case .loggedOut where policy.startsByItself: ended?.remedy
        case .loggedOut(let ended), .probing(let ended, _, _):
            substitute(for: ended) ?? .run("tokenctl login \(name)")
        case .suspended(_, let suspension): suspension.failure.correction(of: name)
        case .retrying(_, let setback): setback.latest.remedy
        case .ready, .refreshing, .reauthenticating: nil
        }
    }
}
