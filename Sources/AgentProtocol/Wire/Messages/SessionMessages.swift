// SPDX-License-Identifier: MIT

import Text

/// The response of `GET /v1/sessions`.
package typealias SessionsMessage = WireMessage<SessionsMembers>

package struct SessionsMembers: WireMemberTable {
    package let sessions = WireMember<[SessionMessage]>("sessions")

    package static let table = Self()
}

/// The response of `GET /v1/sessions/NAME`, most of which is left out at a restricted socket.
package typealias SessionMessage = WireMessage<SessionMembers>

package struct SessionMembers: RemedyMembers {
    package let session = WireMember<String>("session")
    package let state = WireMember<String>("state")
    package let kind = WireMember<String>("kind")
    package let issuer = WireMember<String>("issuer")
    package let hosts = WireMember<[String]>("hosts", isOptional: true)
    package let resource = WireMember<String>("resource", isOptional: true)
    /// The addresses that the session's tokens are requested for (RFC 8707).
    package let resources = WireMember<[String]>("resources", isOptional: true)
    /// Whether ``hosts`` is not configured but derived from the server of ``resource``.
    package let hasHostsOfResource = WireMember<Bool>("hosts_of_resource", isOptional: true)
    /// Whether all hosts of a fleet share the session.
    package let isShared = WireMember<Bool>("fleet", isOptional: true)
    /// This host's role in the fleet of a shared session.
    package let fleetRole = WireMember<String>("fleet_role", isOptional: true)
    /// The session that this session's tokens are derived from.
    package let source = WireMember<String>("source", isOptional: true)
    package let account = WireMember<String>("account", isOptional: true)
    package let expiresAt = WireMember<Int64>("expires_at", .time, isOptional: true)
    package let expiresIn = WireMember<Int64>("expires_in", .seconds, isOptional: true)
    package let nextRefreshAt = WireMember<Int64>("next_refresh_at", .time, isOptional: true)
    package let nextRefreshIn = WireMember<Int64>("next_refresh_in", .seconds, isOptional: true)
    package let refreshExpiresAt = WireMember<Int64>("refresh_expires_at", .time, isOptional: true)
    package let loginEndsAt = WireMember<Int64>("login_ends_at", .time, isOptional: true)
    package let endsSoon = WireMember<Bool>("ends_soon", isOptional: true)
    package let maximumAge = WireMember<Int64>("max_session_age", .seconds, isOptional: true)
    package let loggedInAt = WireMember<Int64>("logged_in_at", .time, isOptional: true)
    package let age = WireMember<Int64>("session_age", .seconds, isOptional: true)
    package let serverClockAhead = WireMember<Int64>("server_clock_ahead", .seconds, isOptional: true)
    package let scope = WireMember<[String]>("scope")
    /// The `token_type` that the server returned, if it is not `Bearer`.
    package let serverTokenType = WireMember<String>("server_token_type", isOptional: true)
    package let rotation = WireMember<String>("rotation")
    package let storage = WireMember<String>("storage")
    package let reason = WireMember<String>("reason", isOptional: true)
    /// The one who ended the login, `person` or `server`, or absent if it expired or the agent ended it.
    package let endedBy = WireMember<String>("ended_by", isOptional: true)
    package let endedAt = WireMember<Int64>("ended_at", .time, isOptional: true)
    package let message = WireMember<String>("message", isOptional: true)
    package let waiters = WireMember<Int64>("waiters")
    package let lastRefreshAt = WireMember<Int64>("last_refresh_at", .time, isOptional: true)
    package let lastRefreshReason = WireMember<String>("last_refresh_reason", isOptional: true)
    package let refreshes = WireMember<Int64>("refreshes")
    /// The number of failures by class.
    package let failures = WireMember<JSONObject>("failures")
    package let lastError = WireMember<LastErrorMessage>("last_error", isOptional: true)
    package let remedyText = WireMember<String>("remedy", isOptional: true)
    package let remedyKind = WireMember<Remedy.Kind>("remedy_kind", isOptional: true)
    package let notes = WireMember<[NoteMessage]>("notes", isOptional: true)
    /// The stored texts, by the names that `keep` defines.
    package let kept = WireMember<JSONObject>("kept")
    /// Those of ``kept`` that are addresses from a token response.
    package let baseAddresses = WireMember<JSONObject>("base_addresses", isOptional: true)

    package static let table = Self()
}

/// The last failure of a session's refresh.
package typealias LastErrorMessage = WireMessage<LastErrorMembers>

package struct LastErrorMembers: WireMemberTable {
    package let failureClass = WireMember<String>("class")
    package let code = WireMember<String>("code", isOptional: true)
    package let message = WireMember<String>("message")
    package let refreshReason = WireMember<String>("refresh_reason", isOptional: true)
    package let at = WireMember<Int64>("at", .time)

    package static let table = Self()
}

/// A warning about a session's tokens.
package typealias NoteMessage = WireMessage<NoteMembers>

package struct NoteMembers: WireMemberTable {
    package let code = WireMember<String>("code")
    package let message = WireMember<String>("message")

    package static let table = Self()
}
