// SPDX-License-Identifier: MIT

import Text

/// The response of `GET /v1/fleet`, and of each request that changes this host's part in its fleet.
package typealias FleetMessage = WireMessage<FleetMembers>

package struct FleetMembers: RemedyMembers {
    package let name = WireMember<String>("name")
    /// The name of this host.
    package let host = WireMember<String>("host")
    package let role = WireMember<String>("role")
    package let hosts = WireMember<[FleetHostMessage]>("hosts")
    package let sessions = WireMember<[FleetSessionMessage]>("sessions")
    package let members = WireMember<[EtcdMemberMessage]>("etcd")
    /// The time by which this host's clock is ahead of etcd's.
    ///
    /// Negative if it is behind.
    package let clockAhead = WireMember<Int64>("clock_ahead", .seconds, isOptional: true)
    /// The reason the fleet's store is unavailable.
    package let message = WireMember<String>("message", isOptional: true)
    package let remedyText = WireMember<String>("remedy", isOptional: true)
    package let remedyKind = WireMember<Remedy.Kind>("remedy_kind", isOptional: true)
    /// The results of the request, one sentence each.
    package let notes = WireMember<[String]>("notes", isOptional: true)

    package static let table = Self()
}

/// A host of the fleet.
package typealias FleetHostMessage = WireMessage<FleetHostMembers>

package struct FleetHostMembers: WireMemberTable {
    package let host = WireMember<String>("host")
    /// The host's random number in hexadecimal digits.
    package let id = WireMember<String>("id")
    package let role = WireMember<String>("role")
    package let version = WireMember<String>("version")
    /// The time of the host's latest announcement, which it makes at its start and every hour.
    package let seenAt = WireMember<Int64>("seen_at", .time)
    package let isThis = WireMember<Bool>("this", isOptional: true)

    package static let table = Self()
}

/// A session as recorded by the fleet.
package typealias FleetSessionMessage = WireMessage<FleetSessionMembers>

package struct FleetSessionMembers: RemedyMembers {
    package let session = WireMember<String>("session")
    /// The state: `live`, `rescued`, `dead`, `logged_out`, `none`, `unreadable` or `unknown`, or `left` if
    /// this host takes no part.
    package let state = WireMember<String>("state")
    package let generation = WireMember<Int64>("generation", isOptional: true)
    /// The number of generations that this host is behind.
    package let behind = WireMember<Int64>("behind", isOptional: true)
    /// The name or number of the host that obtained the tokens.
    package let refreshedBy = WireMember<String>("refreshed_by", isOptional: true)
    /// The time of that refresh, known only to hosts that have its tokens.
    package let refreshedAt = WireMember<Int64>("refreshed_at", .time, isOptional: true)
    /// The host whose attempt has no response yet.
    package let attemptBy = WireMember<String>("attempt_by", isOptional: true)
    /// Whether the server has rejected that attempt, so that a host must confirm it.
    package let attemptRefused = WireMember<Bool>("attempt_refused", isOptional: true)
    /// The number of late responses stored next to the record.
    package let late = WireMember<Int64>("late", isOptional: true)
    package let message = WireMember<String>("message", isOptional: true)
    package let remedyText = WireMember<String>("remedy", isOptional: true)
    package let remedyKind = WireMember<Remedy.Kind>("remedy_kind", isOptional: true)

    package static let table = Self()
}

/// A member of etcd.
package typealias EtcdMemberMessage = WireMessage<EtcdMemberMembers>

package struct EtcdMemberMembers: RemedyMembers {
    package let endpoint = WireMember<String>("endpoint")
    package let version = WireMember<String>("version", isOptional: true)
    /// Whether the member answers and has a leader.
    package let works = WireMember<Bool>("works")
    /// Whether the etcd member responds, but rejects this host's credentials or has a certificate that this host
    /// rejects.
    package let refused = WireMember<Bool>("refused", isOptional: true)
    /// The size of the member's database in bytes.
    package let size = WireMember<Int64>("size", isOptional: true)
    package let message = WireMember<String>("message", isOptional: true)
    package let remedyText = WireMember<String>("remedy", isOptional: true)
    package let remedyKind = WireMember<Remedy.Kind>("remedy_kind", isOptional: true)

    package static let table = Self()
}

/// The body of `POST /v1/fleet/join`, `…/leave` and `…/repair`.
package struct FleetSessionRequestMembers: WireMemberTable {
    /// The session.
    ///
    /// If absent, the request applies to all shared sessions.
    package let session = WireMember<String>("session", isOptional: true)

    package static let table = Self()
}

/// The body of `POST /v1/fleet/remove`.
package struct FleetRemovalRequestMembers: WireMemberTable {
    /// The name or number of the host.
    package let host = WireMember<String>("host")

    package static let table = Self()
}
