// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// What one host alone has of a session, so that it cannot leave before etcd has it.
enum UnpublishedChange {
    /// The answer to a refresh: without it the others have a refresh token that is spent.
    case answer
    /// The same, and a reader cannot give it to etcd.
    case bufferedResponse
    /// The others are still logged in.
    case logout
    /// A login that the others do not have; they go on with what they have.
    case login
}

extension UnpublishedChange {
    /// `nil`: the others have everything that this host has of the session `name`.
    init?(of name: SessionName, in agent: isolated SessionAgent) {
        let isRecovering = UnpublishedChange.isRecovering(name, in: agent)
        if let session = agent.fleet[name] {
            self.init(of: session, isRecovering: isRecovering)
        } else if let port = agent.ports.fleet, let joining = agent.fleet.joiningSession(name) {
            self.init(of: joining, isRecovering: isRecovering, at: port.role)
        } else {
            return nil
        }
    }

    /// Whether a session looks for an answer that may lie here since the agent was stopped; of one that does not look there
    /// is nothing to wait for.
    private static func isRecovering(_ name: SessionName, in agent: isolated SessionAgent) -> Bool {
        guard agent.sessions[name]?.session.isRefreshing == true else { return false }
        if let session = agent.fleet[name] { return session.member.isInterrupted }
        return agent.fleet.joiningSession(name)?.keeping?.memory.sending != nil
    }

    /// What this host has of a session, and the others cannot go on without; `nil`: nothing.
    static func refusal(of name: SessionName, in agent: isolated SessionAgent) -> RequestFailure? {
        UnpublishedChange(of: name, in: agent) == .login ? nil : unshared(of: name, in: agent)
    }

    /// What this host alone has of a session: a debt, or a login; `nil`: nothing.
    static func unshared(of name: SessionName, in agent: isolated SessionAgent) -> RequestFailure? {
        UnpublishedChange(of: name, in: agent).map { debt in
            RequestFailure(debt, agent.fleet[name]?.trouble ?? agent.fleet.trouble, of: name)
        }
    }

    /// Whether the others are about to have it.
    func isPublishing(for name: SessionName, in agent: isolated SessionAgent) -> Bool {
        guard self != .bufferedResponse else { return false }
        guard let session = agent.fleet[name] else { return agent.fleet.isOpening }
        let isUnanswered = session.isExchanging || UnpublishedChange.isRecovering(name, in: agent)
        return isUnanswered || agent.fleet.trouble == nil && session.trouble == nil
    }

    /// `nil`: the others have everything that this host has of `session`.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - isRecovering: it looks for an answer from before the agent was stopped.
    init?(of session: SharedSession, isRecovering: Bool) {
        if let debt = UnpublishedChange(of: session.member.memory, at: session.sharing.role) {
            self = debt
        } else if session.isExchanging || isRecovering {
            self = .answer
        } else if session.hasNews {
            // A login may follow a logout whose tokens are still to be revoked.
            self = session.heldBack.followsLogout ? .logout : .login
        } else {
            return nil
        }
    }

    /// The same for a session that waits for the shared store to be opened.
    init?(of session: JoiningSession, isRecovering: Bool, at role: FleetRole) {
        guard let memory = session.keeping?.memory else { return nil }
        if let debt = UnpublishedChange(of: memory, at: role) {
            self = debt
        } else if isRecovering {
            self = .answer
        } else if memory.isNews {
            self = .login
        } else {
            return nil
        }
    }

    /// What the record on disk says that etcd may not have, and the others cannot do without.
    private init?(of memory: FleetPersistentState, at role: FleetRole) {
        if memory.isNews, memory.record?.status == .out {
            self = .logout
        } else if let answer = memory.answer, answer.placedIn == nil {
            self = role == .reader ? .bufferedResponse : .answer
        } else {
            return nil
        }
    }
}

extension GrantWarning {
    /// What the status of `session` says of a debt; `nil`: nothing, there is none or it is about to be paid.
    init?(_ session: SharedSession, in state: SessionStatus.State) {
        if session.hasNews, let trouble = session.trouble {
            let what = state == .loggedOut ? "are still logged in" : "do not have this login yet"
            self.init(.notShared, "the other hosts \(what): \(trouble.advice)")
        } else if UnpublishedChange(of: session, isRecovering: false) == .bufferedResponse {
            let message =
                "this host has tokens that the others lack, and a reader cannot give them: make it a keeper again"
            self.init(.notShared, message)
        } else {
            return nil
        }
    }
}

extension RequestFailure {
    /// This host cannot give up a session yet.
    init(_ debt: UnpublishedChange, _ trouble: FleetStoreError?, of name: SessionName) {
        let what =
            switch debt {
            case .answer, .bufferedResponse: "the newest tokens of \(name)"
            case .logout: "the logout of \(name)"
            case .login: "the latest login of \(name)"
            }
        let reason = trouble.map { ": \($0.advice)" } ?? ""
        let remedy =
            switch debt {
            case .answer, .logout: "wait until etcd has that, see tokenctl fleet status"
            case .bufferedResponse: "make this host a keeper again until etcd has them"
            case .login: "wait until etcd has that, or give it up with tokenctl logout \(name) --local"
            }
        self.init(
            code: .temporarilyUnavailable,
            message: "This host alone has \(what), which etcd lacks\(reason)",
            session: name,
            remedy: remedy,
            retryAfter: .seconds(10)
        )
    }
}
