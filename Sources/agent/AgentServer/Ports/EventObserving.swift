// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// A receiver of all events that runs hooks; it must not block.
package protocol EventObserving: Sendable {
    func observe(_ event: AgentEvent)
}

/// An event for subscribers and hooks; it never contains a secret.
package struct AgentEvent: Equatable, Sendable {
    package var name: EventName
    package var session: SessionName?
    package var time: WallTime
    package var reason: String?
    package var message: String?
    package var expiresAt: WallTime?
    /// The reason of the refresh that the event reports.
    package var refreshReason: RefreshReason?
    /// The variant of the refreshed token.
    package var variant: TokenVariant

    package init(
        _ name: EventName,
        session: SessionName?,
        time: WallTime,
        reason: String? = nil,
        message: String? = nil,
        expiresAt: WallTime? = nil,
        refreshReason: RefreshReason? = nil,
        variant: TokenVariant = .primary
    ) {
        self.name = name
        self.session = session
        self.time = time
        self.reason = reason
        self.message = message
        self.expiresAt = expiresAt
        self.refreshReason = refreshReason
        self.variant = variant
    }

    /// The event as a message of `GET /v1/events`.
    package var wire: EventMessage {
        EventMessage {
            $0.event = name.rawValue
            $0.session = session?.description
            $0.time = time.secondsSince1970
            $0.reason = reason
            $0.refreshReason = refreshReason?.rawValue
            $0.message = message
            if !variant.scopes.isEmpty { $0.scope = variant.scopes.joined(separator: " ") }
            $0.audience = variant.audience
            $0.expiresAt = expiresAt?.secondsSince1970
        }
    }
}
