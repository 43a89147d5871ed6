// SPDX-License-Identifier: MIT

/// The answer of `GET /v1/fleet`, and of each request that changes what this host does in its fleet.
package typealias FleetMessage = WireMessage<FleetMembers>

package struct FleetMembers: WireMembers {
    package let name = WireMember<String>("name")
    /// What this host is called.
    package let host = WireMember<String>("host")
    package let role = WireMember<String>("role")
    package let hosts = WireMember<[FleetHostMessage]>("hosts")
    package let sessions = WireMember<[FleetSessionMessage]>("sessions")
    package let members = WireMember<[FleetMemberMessage]>("etcd")
    /// How far this host's clock is ahead of etcd's; negative: behind.
    package let clockAhead = WireMember<Int64>("clock_ahead", .seconds, isOptional: true)
    /// Why the fleet's store cannot be used.
    package let message = WireMember<String>("message", isOptional: true)
    package let remedy = WireMember<String>("remedy", isOptional: true)
    /// What the request has done, a sentence each.
    package let notes = WireMember<[String]>("notes", isOptional: true)

    package static let table = Self()
}

/// A host of the fleet.
package typealias FleetHostMessage = WireMessage<FleetHostMembers>

package struct FleetHostMembers: WireMembers {
    package let host = WireMember<String>("host")
    /// Its random number, in hexadecimal.
    package let id = WireMember<String>("id")
    package let role = WireMember<String>("role")
    package let version = WireMember<String>("version")
    /// When it last said that it is there: at its start, and every hour.
    package let seenAt = WireMember<Int64>("seen_at", .time)
    package let isThis = WireMember<Bool>("this", isOptional: true)

    package static let table = Self()
}

/// A session as the fleet has it.
package typealias FleetSessionMessage = WireMessage<FleetSessionMembers>

package struct FleetSessionMembers: WireMembers {
    package let session = WireMember<String>("session")
    /// `live`, `rescued`, `dead`, `logged_out`, `none`, `unreadable` or `unknown`; `left` where this host takes no part.
    package let state = WireMember<String>("state")
    package let generation = WireMember<Int64>("generation", isOptional: true)
    /// How many generations this host is behind.
    package let behind = WireMember<Int64>("behind", isOptional: true)
    /// The host that brought its tokens: its name, or its number.
    package let refreshedBy = WireMember<String>("refreshed_by", isOptional: true)
    /// When; only a host that has these tokens knows.
    package let refreshedAt = WireMember<Int64>("refreshed_at", .time, isOptional: true)
    /// The host whose attempt has no answer yet.
    package let attemptBy = WireMember<String>("attempt_by", isOptional: true)
    /// The server refused that attempt, and a host has to confirm it.
    package let attemptRefused = WireMember<Bool>("attempt_refused", isOptional: true)
    /// Answers that lie beside the record.
    package let late = WireMember<Int64>("late", isOptional: true)
    package let message = WireMember<String>("message", isOptional: true)
    package let remedy = WireMember<String>("remedy", isOptional: true)

    package static let table = Self()
}

/// A member of etcd.
package typealias FleetMemberMessage = WireMessage<FleetMemberMembers>

package struct FleetMemberMembers: WireMembers {
    package let endpoint = WireMember<String>("endpoint")
    package let version = WireMember<String>("version", isOptional: true)
    /// It answers, and has a leader.
    package let works = WireMember<Bool>("works")
    /// It answers, but it and this host do not let each other in.
    package let refused = WireMember<Bool>("refused", isOptional: true)
    /// Bytes of its database.
    package let size = WireMember<Int64>("size", isOptional: true)
    package let message = WireMember<String>("message", isOptional: true)
    package let remedy = WireMember<String>("remedy", isOptional: true)

    package static let table = Self()
}

/// The body of `POST /v1/fleet/join`, `…/leave` and `…/repair`.
package struct FleetSessionWishMembers: WireMembers {
    /// Without it all shared sessions are meant.
    package let session = WireMember<String>("session", isOptional: true)

    package static let table = Self()
}

/// The body of `POST /v1/fleet/remove`.
package struct FleetRemovalMembers: WireMembers {
    /// Its name, or its number.
    package let host = WireMember<String>("host")

    package static let table = Self()
}
