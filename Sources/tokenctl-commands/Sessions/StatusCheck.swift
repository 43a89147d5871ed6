// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// How things are, as an exit status for prompts and monitoring.
struct StatusCheck {
    /// Nothing is wrong, but a person will have to log in soon; the only exit status that is no failure's.
    static let loginEndsSoon: Int32 = 9
    /// A prompt waits no longer than this for a silent agent: 2 s.
    private static let maximumSilence = Duration.seconds(2)

    /// `nil`: all sessions.
    var session: String?
    var endpoint: AgentEndpoint

    /// The first that applies: 6 locked, 4 login required, 5 in trouble, 9 a login ends soon, 0.
    ///
    /// If the agent cannot be asked, the failure's own; none is started.
    var exitStatus: Int32 {
        do throws(AgentError) {
            return StatusCheck.exitStatus(of: try sessions(), isEachMeant: session != nil)
        } catch {
            return error.code.exitStatus
        }
    }

    /// - Parameters:
    ///   - sessions: as the agent shows them.
    ///   - isEachMeant: whether also those count that nobody uses, without a login ever or logged out by a person, and
    ///     those that are made from another one, whose login counts already.
    /// - Returns: the exit status.
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
    /// Whether nobody expects a login: there was none, or a person ended it, or it is not told why there is none.
    fileprivate var isUnused: Bool {
        needsLogin && (isRestricted || isLeftByPerson)
    }

    /// Whether there is no login because there was none, or a person ended it.
    var isLeftByPerson: Bool { self.reason == "never_logged_in" || self.reason == "logged_out" }

    /// Whether a `[[socket]]` has answered, which says nothing of logins but whether there is one.
    private var isRestricted: Bool { self.kind == nil }

    /// Whether it is the login to another session, one of `names`, that is missing.
    fileprivate func waits(forOneOf names: Set<ByteText>) -> Bool {
        guard needsLogin, self.reason == "source_ended", let source = self.source else { return false }
        return names.contains(source.bytewise)
    }

    /// Whether there is none yet, or none any more.
    fileprivate var needsLogin: Bool {
        self.state == "logged_out" && !isUnknown || self.state == "logging_in"
    }

    /// Whether the agent cannot say, as it has not been able to ask the session's fleet.
    private var isUnknown: Bool { self.state == "logged_out" && self.reason == nil && !isRestricted }

    /// Whether something has to be fixed, or no token can be had.
    fileprivate var isInTrouble: Bool {
        isUnknown || self.state == "suspended" || self.state == "retrying" && (self.expiresIn ?? 0) < 1
    }
}
