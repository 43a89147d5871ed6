// SPDX-License-Identifier: MIT

/// One line of `GET /v1/events`.
package typealias EventMessage = WireMessage<EventMembers>

package struct EventMembers: WireMemberTable {
    package let event = WireMember<String>("event")
    package let session = WireMember<String>("session", isOptional: true)
    package let time = WireMember<Int64>("time", .time)
    package let reason = WireMember<String>("reason", isOptional: true)
    package let refreshReason = WireMember<String>("refresh_reason", isOptional: true)
    package let message = WireMember<String>("message", isOptional: true)
    /// The scopes, separated by spaces.
    package let scope = WireMember<String>("scope", isOptional: true)
    package let audience = WireMember<String>("audience", isOptional: true)
    package let expiresAt = WireMember<Int64>("expires_at", .time, isOptional: true)

    package static let table = Self()
}

/// One line of `GET /v1/audit`.
package typealias AuditMessage = WireMessage<AuditMembers>

package struct AuditMembers: WireMemberTable {
    package let time = WireMember<Int64>("time", .time)
    package let session = WireMember<String>("session", isOptional: true)
    package let source = WireMember<String>("source", isOptional: true)
    package let decision = WireMember<String>("decision")
    package let kind = WireMember<String>("kind", isOptional: true)
    package let action = WireMember<String>("action", isOptional: true)
    package let pid = WireMember<Int64>("pid", isOptional: true)
    package let uid = WireMember<Int64>("uid", isOptional: true)
    package let by = WireMember<String>("by", isOptional: true)
    package let exe = WireMember<String>("exe", isOptional: true)
    package let name = WireMember<String>("name", isOptional: true)
    package let callers = WireMember<[String]>("callers", isOptional: true)
    package let claimedCaller = WireMember<String>("claimed_caller", isOptional: true)
    package let unit = WireMember<String>("unit", isOptional: true)
    package let socket = WireMember<String>("socket", isOptional: true)
    package let file = WireMember<String>("file", isOptional: true)
    package let host = WireMember<String>("host", isOptional: true)
    package let listener = WireMember<String>("listener", isOptional: true)

    package static let table = Self()
}

/// A line of `GET /v1/audit` that replaces lines that could not be written.
package typealias LostAuditLinesMessage = WireMessage<LostAuditLinesMembers>

package struct LostAuditLinesMembers: WireMemberTable {
    package let time = WireMember<Int64>("time", .time)
    package let dropped = WireMember<Int64>("dropped")

    package static let table = Self()
}
