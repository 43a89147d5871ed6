// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// The failure of a request, as the peer receives it.
package struct RequestFailure: Error, Equatable, Sendable {
    package var code: FailureCode
    /// The error as a clause for the user, without a full stop.
    package var message: String
    package var session: String?
    /// The step that helps, or `nil` if there is none.
    package var remedy: Remedy?
    /// The delay before a retry in whole seconds, rounded up, at least 1.
    var retryAfterSeconds: Int64?

    package init(
        code: FailureCode,
        message: String,
        session: SessionName? = nil,
        remedy: Remedy? = nil,
        retryAfter: Duration? = nil
    ) {
        self.code = code
        self.message = message
        self.session = session?.description
        self.remedy = remedy
        retryAfterSeconds = retryAfter.map { max(1, ($0 + .nanoseconds(999_999_999)).wholeSeconds) }
    }

    /// Creates the failure of a request whose `path` has no route.
    init(nothingAt path: Substring) {
        guard Route.namesNoSession(path) else {
            self.init(code: .notFound, message: "path not found")
            return
        }
        self = .noSuchName
    }

    /// The failure for a text that cannot be a session name, which counts as unknown.
    static let noSuchName = RequestFailure(
        code: .notFound,
        message: "no session with this name",
        remedy: .run("tokenctl list --json")
    )

    static func unknown(_ name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .notFound,
            message: "no session named \"\(name)\"",
            session: name,
            remedy: .run("tokenctl add \(name)")
        )
    }

    /// Returns the failure of a request whose session a reload has just changed.
    ///
    /// A retry uses the new settings.
    static func changedSettings(of name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .temporarilyUnavailable,
            message: "session was reconfigured during the request",
            session: name,
            remedy: .retry("now")
        )
    }

    /// Returns the failure of a token request to a session with role credentials, which only one endpoint
    /// serves.
    static func roleCredentials(of name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .misconfigured,
            message: "session provides the credentials of a role, not a token",
            session: name,
            remedy: .run("tokenctl aws \(name)")
        )
    }

    static func noRole(of name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .misconfigured,
            message: "session provides a token, not the credentials of a role",
            session: name,
            remedy: .run("tokenctl get \(name)")
        )
    }

    /// Returns the failure for a rejection without a reason, where the session cannot be refreshed.
    static func refusedOnce(_ name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .temporarilyUnavailable,
            message: "the login cannot be refreshed, and one rejection without a reason does not end it",
            session: name,
            remedy: .run("tokenctl login \(name)")
        )
    }

    /// The failure of nearly every route while the agent is locked.
    static let lockedAgent = RequestFailure(
        code: .locked,
        message: "agent is locked",
        remedy: .run("tokenctl unlock")
    )

    /// The failure of every request once the agent is stopping.
    static let stoppingAgent = RequestFailure(
        code: .temporarilyUnavailable,
        message: "agent is stopping",
        retryAfter: .seconds(1)
    )

    /// The `error` member of responses and events.
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
