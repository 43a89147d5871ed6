// SPDX-License-Identifier: MIT

/// The response of `GET /v1`.
package typealias AgentMessage = WireMessage<AgentMembers>

package struct AgentMembers: WireMemberTable {
    package let version = WireMember<String>("version")
    package let api = WireMember<Int64>("api")
    package let pid = WireMember<Int64>("pid", isOptional: true)
    package let uptime = WireMember<Int64>("uptime", .seconds)
    package let locked = WireMember<Bool>("locked")
    package let sessions = WireMember<Int64>("sessions")
    package let memoryLocked = WireMember<Bool>("memory_locked", isOptional: true)
    package let store = WireMember<String>("store", isOptional: true)
    package let configuration = WireMember<String>("configuration", isOptional: true)
    /// The command that restarts the agent's unit, absent if it is no unit.
    package let restartCommand = WireMember<String>("restart_command", isOptional: true)

    package static let table = Self()
}

/// The response of `POST /v1/lock` and `POST /v1/unlock`.
package typealias LockStateMessage = WireMessage<LockStateMembers>

package struct LockStateMembers: WireMemberTable {
    package let locked = WireMember<Bool>("locked")

    package static let table = Self()
}

/// The body of `POST /v1/unlock`.
package struct UnlockRequestMembers: WireMemberTable {
    package let passphrase = WireMember<String>("passphrase", isOptional: true)

    package static let table = Self()
}

/// The response of `POST /v1/shutdown`.
package typealias ShutdownResponseMessage = WireMessage<ShutdownResponseMembers>

package struct ShutdownResponseMembers: WireMemberTable {
    package let stopping = WireMember<Bool>("stopping")

    package static let table = Self()
}

/// The body of `POST /v1/restrict`, and its response.
package typealias RestrictMessage = WireMessage<RestrictMembers>

package struct RestrictMembers: WireMemberTable {
    package let sessions = WireMember<[String]>("sessions")
    package let host = WireMember<String>("host")

    package static let table = Self()
}
