// SPDX-License-Identifier: MIT

/// The body of `POST /v1/reload`.
package struct ReloadMembers: WireMembers {
    package let check = WireMember<Bool>("check", isOptional: true)

    package static let table = Self()
}

/// The answer of `POST /v1/reload`.
package typealias ReloadMessage = WireMessage<ReloadAnswerMembers>

package struct ReloadAnswerMembers: WireMembers {
    package let sessions = WireMember<Int64>("sessions")
    package let file = WireMember<String>("file")
    package let added = WireMember<[String]>("added")
    package let removed = WireMember<[String]>("removed")
    package let changed = WireMember<[String]>("changed")
    package let restart = WireMember<[RestartMessage]>("restart")
    package let mistakes = WireMember<[String]>("mistakes")

    package static let table = Self()
}

/// Something in the configuration that takes effect only after a restart of the agent.
package typealias RestartMessage = WireMessage<RestartMembers>

package struct RestartMembers: WireMembers {
    package let key = WireMember<String>("key")
    package let reason = WireMember<String>("reason")

    package static let table = Self()
}

/// What `tokenagent --check-config --json` says about a file.
package typealias ConfigurationMessage = WireMessage<ConfigurationMembers>

package struct ConfigurationMembers: WireMembers {
    package let file = WireMember<String>("file")
    package let isGood = WireMember<Bool>("ok")
    package let sessions = WireMember<Int64>("sessions", isOptional: true)
    package let problems = WireMember<[ProblemMessage]>("problems")
    /// The one that `--session` asks for, if it is there or named.
    package let session = WireMember<SessionLocationMessage>("session", isOptional: true)
    /// What differs in the running agent; `tokenctl config check` adds it.
    package let agent = WireMember<[String]>("agent", isOptional: true)

    package static let table = Self()
}

/// Where the table of a session is.
package typealias SessionLocationMessage = WireMessage<SessionPlaceMembers>

package struct SessionPlaceMembers: WireMembers {
    /// Missing for the configuration file itself.
    package let file = WireMember<String>("file", isOptional: true)
    package let line = WireMember<Int64>("line", isOptional: true)
    /// Tables that name it.
    package let namedBy = WireMember<[String]>("named_by")
    /// What the table says of where its tokens may go; missing if there is no table.
    package let settings = WireMember<SessionMessage>("settings", isOptional: true)

    package static let table = Self()
}

/// One mistake in a configuration.
package typealias ProblemMessage = WireMessage<ProblemMembers>

package struct ProblemMembers: WireMembers {
    package let file = WireMember<String>("file", isOptional: true)
    package let line = WireMember<Int64>("line", isOptional: true)
    package let key = WireMember<String>("key", isOptional: true)
    package let message = WireMember<String>("message")

    package static let table = Self()
}
