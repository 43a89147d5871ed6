// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The state of sessions as an exit status, for shell prompts and monitoring.
struct StatusCheck {
    /// The exit status if a login is required soon; it is the only nonzero status that is not an error's.
    static let loginEndsSoon: Int32 = 9
    /// The maximum time to wait for an agent that sends nothing: 2 s, because shell prompts wait for the
    /// result.
    private static let maximumSilence = Duration.seconds(2)

    /// The name of the session, or `nil` for all sessions.
    var session: String?
    var endpoint: AgentEndpoint

    /// The exit status of the first condition that is true: 6 locked, 4 login required, 5 failing, 9 a login
    /// ends soon, or else 0.
    ///
    /// If the agent does not respond, the exit status is that of the error. No agent is started.
    var exitStatus: Int32 {
        do throws(AgentError) {
            return StatusCheck.exitStatus(of: try sessions(), isEachMeant: session != nil)
        } catch {
            return error.code.exitStatus
        }
    }

    /// Returns the exit status for `sessions`.
    ///
    /// - Parameters:
    ///   - sessions: The sessions as the agent reports them.
    ///   - isEachMeant: Whether unused sessions count too: those without any login or logged out by a user.
    ///     This also includes sessions that depend on another one, whose login already counts.
    /// - Returns: The exit status.
    static func exitStatus(of sessions: [SessionMessage], isEachMeant: Bool) -> Int32 {
        let names = Set(sessions.compactMap { $0.session?.bytewise })
        let used = sessions.filter { isEachMeant || !$0.isUnused && !$0.waits(forOneOf: names) }
        if used.contains(where: \.needsLogin) { return FailureCode.loginRequired.exitStatus }
        if used.contains(where: \.isInTrouble) { return FailureCode.temporarilyUnavailable.exitStatus }
        return used.contains { $0.endsSoon == true } ? loginEndsSoon : 0
    }

    private func sessions() throws(AgentError) -> [SessionMessage] {
        var endpoint = endpoint
        endpoint.mayStartAgent = false
        endpoint.maximumSilence = StatusCheck.maximumSilence
        guard let session else { return try endpoint.sessions() }
        return [try endpoint.message(AgentRequest(.get, "sessions", session))]
    }
}

extension SessionMessage {
    /// Whether no login is expected: there was none, a user ended it, or the reason is not reported.
    fileprivate var isUnused: Bool {
        needsLogin && (isRestricted || isLeftByPerson)
    }

    /// Whether there is no login because there was none or a user ended it.
    var isLeftByPerson: Bool { self.reason == "never_logged_in" || self.reason == "logged_out" }

    /// Whether the response is from a `[[socket]]`, which reports only whether there is a login.
    private var isRestricted: Bool { self.kind == nil }

    /// Returns whether only the login to another session is missing, which is one of `names`.
    fileprivate func waits(forOneOf names: Set<ByteText>) -> Bool {
        guard needsLogin, self.reason == "source_ended", let source = self.source else { return false }
        return names.contains(source.bytewise)
    }

    /// Whether the session has no login now.
    fileprivate var needsLogin: Bool {
        self.state == "logged_out" && !isUnknown || self.state == "logging_in"
    }

    /// Whether the state is unknown because the agent could not query the session's fleet.
    private var isUnknown: Bool { self.state == "logged_out" && self.reason == nil && !isRestricted }

    /// Whether something must be fixed, or no token is available.
    fileprivate var isInTrouble: Bool {
        isUnknown || self.state == "suspended" || self.state == "retrying" && (self.expiresIn ?? 0) < 1
    }
}
