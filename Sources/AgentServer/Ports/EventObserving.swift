// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// Is told every event, to run hooks; must return at once.
package protocol EventObserving: Sendable {
    func observe(_ event: AgentEvent)
}

/// Something that happened, as subscribers and hooks see it: never with a secret.
package struct AgentEvent: Equatable, Sendable {
    /// A ``SessionEvent/Kind`` as spelled on the wire, or `locked`, `unlocked`.
    package var kind: String
    package var session: SessionName?
    package var time: WallTime
    package var reason: String?
    package var message: String?
    package var expiresAt: WallTime?
    /// Why the refresh was made that the event is about.
    package var refreshReason: RefreshReason?
    /// Which token was refreshed.
    package var variant: TokenVariant

    package init(
        kind: String,
        session: SessionName?,
        time: WallTime,
        reason: String? = nil,
        message: String? = nil,
        expiresAt: WallTime? = nil,
        refreshReason: RefreshReason? = nil,
        variant: TokenVariant = .primary
    ) {
        self.kind = kind
        self.session = session
        self.time = time
        self.reason = reason
        self.message = message
        self.expiresAt = expiresAt
        self.refreshReason = refreshReason
        self.variant = variant
    }

    /// One line of `GET /v1/events`, without its end.
    package var json: JSONValue {
        var object = JSONObject()
        object["event"] = .string(kind)
        object["session"] = session.map { .string($0.description) }
        object["time"] = .integer(time.secondsSince1970)
        object["reason"] = reason.map { .string($0) }
        object["refresh_reason"] = refreshReason.map { .string($0.rawValue) }
        object["message"] = message.map { .string($0) }
        if !variant.scopes.isEmpty { object["scope"] = .string(variant.scopes.joined(separator: " ")) }
        object["audience"] = variant.audience.map { .string($0) }
        object["expires_at"] = expiresAt.map { .integer($0.secondsSince1970) }
        return .object(object)
    }
}
