// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// The failure of a request, as the peer receives it.
package struct RequestFailure: Error, Equatable, Sendable {
    package var code: FailureCode
    /// One sentence for the user.
    package var message: String
    package var session: String?
    /// The command that helps, or the setting to change.
    package var remedy: String?
    /// The delay before a retry in whole seconds, rounded up, at least 1.
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

    /// Creates the failure of a request whose `path` has no route.
    init(nothingAt path: Substring) {
        guard Route.namesNoSession(path) else {
            self.init(code: .notFound, message: "There is nothing at this address.")
            return
        }
        self = .noSuchName
    }

    /// The failure for a text that cannot be a session name, which counts as unknown.
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

    /// Returns the failure of a request whose session a reload has just changed.
    ///
    /// A retry uses the new settings.
    static func changedSettings(of name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .temporarilyUnavailable,
            message: "The settings of \(name) have changed at this moment.",
            session: name
        )
    }

    /// Returns the failure of a token request to a session with role credentials, which only one endpoint
    /// serves.
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

    /// Returns the failure for a rejection without a reason, where the session cannot be refreshed.
    static func refusedOnce(_ name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .temporarilyUnavailable,
            message:
                "One refusal without a reason does not end a login that cannot be refreshed; a second one would.",
            session: name,
            remedy: "tokenctl login \(name)"
        )
    }

    /// The failure of nearly every route while the agent is locked.
    static let lockedAgent = RequestFailure(
        code: .locked,
        message: "The agent is locked.",
        remedy: "tokenctl unlock"
    )

    /// The failure of every request once the agent is stopping.
    static let stoppingAgent = RequestFailure(
        code: .temporarilyUnavailable,
        message: "The agent is stopping.",
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
