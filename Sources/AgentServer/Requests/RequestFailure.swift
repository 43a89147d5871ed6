// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// Why a request could not be served, as the peer is told.
package struct RequestFailure: Error, Equatable, Sendable {
    package var code: FailureCode
    /// One sentence for a person.
    package var message: String
    package var session: String?
    /// The command that helps, or what to change.
    package var remedy: String?
    /// Whole seconds, rounded up, at least 1.
    package var retryAfterSeconds: Int64?

    package init(
        code: FailureCode,
        message: String,
        session: SessionName? = nil,
        remedy: String? = nil,
        retryAfter: Duration? = nil
    ) {
        self.code = code
        self.message = message
        self.session = session?.description
        self.remedy = remedy
        retryAfterSeconds = retryAfter.map { max(1, ($0 + .nanoseconds(999_999_999)).wholeSeconds) }
    }

    /// The failure of a request whose `path` has no route.
    init(nothingAt path: Substring) {
        guard Route.namesNoSession(path) else {
            self.init(code: .notFound, message: "There is nothing at this address.")
            return
        }
        self = .noSuchName
    }

    /// A text that cannot be a name is unknown.
    static let noSuchName = RequestFailure(
        code: .notFound,
        message: "There is no session of that name.",
        remedy: "tokenctl list"
    )

    static func unknown(_ name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .notFound,
            message: "no session named \"\(name)\"",
            session: name,
            remedy: "tokenctl add \(name)"
        )
    }

    /// A reload has changed what the session is; whoever asks again is told how it stands then.
    static func changedSettings(of name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .temporarilyUnavailable,
            message: "The settings of \(name) have changed at this moment.",
            session: name
        )
    }

    /// Something else than a token was asked for than there is: a role's credentials are handed out at one address
    /// alone.
    static func roleCredentials(of name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .misconfigured,
            message: "The session has the credentials of a role, and no token.",
            session: name,
            remedy: "tokenctl aws \(name)"
        )
    }

    static func noRole(of name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .misconfigured,
            message: "The session has a token, and no credentials of a role.",
            session: name,
            remedy: "tokenctl get \(name)"
        )
    }

    /// A server has refused, without a reason, the token of a session that cannot be refreshed.
    static func refusedOnce(_ name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .temporarilyUnavailable,
            message:
                "One refusal without a reason does not end a login that cannot be refreshed; a second one would.",
            session: name,
            remedy: "tokenctl login \(name)"
        )
    }

    /// What every route but a few answers while the agent is locked.
    static let lockedAgent = RequestFailure(
        code: .locked,
        message: "The agent is locked.",
        remedy: "tokenctl unlock"
    )

    /// What every request is answered once the agent stops.
    static let stoppingAgent = RequestFailure(
        code: .temporarilyUnavailable,
        message: "The agent is stopping.",
        retryAfter: .seconds(1)
    )

    /// The `error` member of answers and events.
    var wire: FailureMessage {
        FailureMessage {
            $0.code = code
            $0.message = message
            $0.session = session
            $0.remedy = remedy
            $0.retryAfter = retryAfterSeconds
        }
    }
}
