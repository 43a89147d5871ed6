// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// A change of a session that only this host has, and not yet etcd.
///
/// This host must not leave the fleet before the change is in etcd.
enum UnpublishedChange {
    /// The response to a refresh.
    ///
    /// Without it the other hosts have a refresh token that is already used.
    case answer
    /// The response to a refresh at a reader, which cannot write it to etcd.
    case bufferedResponse
    /// A logout.
    ///
    /// The other hosts are still logged in.
    case logout
    /// A login that the other hosts do not have.
    ///
    /// They continue with their current one.
    case login
}

extension UnpublishedChange {
    /// Creates the change that only this host has of `session`, or `nil` if there is none.
    ///
    /// - Parameters:
    ///   - session: The shared session.
    ///   - isRecovering: Whether it searches for a response from before the agent stopped.
    init?(of session: SharedSession, isRecovering: Bool) {
        if let debt = UnpublishedChange(of: session.member.memory, at: session.sharing.role) {
            self = debt
        } else if session.isExchanging || isRecovering {
            self = .answer
        } else if session.hasNews {
            // A login may follow a logout whose tokens must still be revoked.
            self = session.deferred.followsLogout ? .logout : .login
        } else {
            return nil
        }
    }

    /// Creates the change of a session that waits for the shared store to be opened, or `nil` if there is
    /// none.
    init?(of session: JoiningSession, isRecovering: Bool, at role: FleetRole) {
        guard let memory = session.keeping?.memory else { return nil }
        if let debt = UnpublishedChange(of: memory, at: role) {
            self = debt
        } else if isRecovering {
            self = .answer
        } else if memory.isUnpublished {
            self = .login
        } else {
            return nil
        }
    }

    /// Creates the change that is in the session's record on disk and may not be in etcd, or returns `nil` if
    /// there is none.
    ///
    /// Only changes that the other hosts cannot continue without count.
    private init?(of memory: FleetPersistentState, at role: FleetRole) {
        if memory.isUnpublished, memory.record?.status == .out {
            self = .logout
        } else if let answer = memory.answer, answer.placedIn == nil {
            self = role == .reader ? .bufferedResponse : .answer
        } else {
            return nil
        }
    }
}

extension UnpublishedChange {
    /// The advice for a ``bufferedResponse``.
    fileprivate static let becomeKeeper = Remedy.setAndRestart(
        "role = \"keeper\" in [fleet] with the keepers' file"
    )
}

extension GrantWarning {
    /// Creates the warning about an unpublished change of `session`, or `nil` if there is none or it is being
    /// published.
    init?(_ session: SharedSession, in state: SessionStatus.State) {
        if session.hasNews, let storeError = session.storeError {
            let what = state == .loggedOut ? "are still logged in" : "do not have this login yet"
            self.init(.notShared, "the other hosts \(what): \(storeError.advice)")
        } else if UnpublishedChange(of: session, isRecovering: false) == .bufferedResponse {
            let message = "only this host has the newest tokens, and a reader cannot write them to etcd"
            self.init(.notShared, "\(message) \(UnpublishedChange.becomeKeeper.parenthesized)")
        } else {
            return nil
        }
    }
}

extension RequestFailure {
    /// Creates the failure of a request to leave while this host has an unpublished change.
    init(_ debt: UnpublishedChange, _ storeError: FleetStoreError?, of name: SessionName) {
        let what =
            switch debt {
            case .answer, .bufferedResponse: "the newest tokens"
            case .logout: "the logout"
            case .login: "the latest login"
            }
        let reason = storeError.map { ": \($0.sentence)" } ?? ""
        let remedy: Remedy =
            switch debt {
            case .answer, .logout, .login: storeError?.remedy ?? .retry("when etcd is reachable")
            case .bufferedResponse: UnpublishedChange.becomeKeeper
            }
        self.init(
            code: .temporarilyUnavailable,
            message: "not yet in etcd: \(what)\(reason)",
            session: name,
            remedy: remedy,
            retryAfter: .seconds(10)
        )
    }
}
