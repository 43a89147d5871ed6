// SPDX-License-Identifier: MIT

import Text

/// The body of `POST /v1/reload`.
package struct ReloadRequestMembers: WireMemberTable {
    package let check = WireMember<Bool>("check", isOptional: true)

    package static let table = Self()
}

/// The response of `POST /v1/reload`.
package typealias ReloadMessage = WireMessage<ReloadResponseMembers>

package struct ReloadResponseMembers: WireMemberTable {
    package let sessions = WireMember<Int64>("sessions")
    package let file = WireMember<String>("file")
    package let added = WireMember<[String]>("added")
    package let removed = WireMember<[String]>("removed")
    package let changed = WireMember<[String]>("changed")
    package let restart = WireMember<[RequiredRestartMessage]>("restart")
    package let mistakes = WireMember<[String]>("mistakes")

    package static let table = Self()
}

/// A change of the configuration that takes effect only after a restart of the agent.
package typealias RequiredRestartMessage = WireMessage<RequiredRestartMembers>

package struct RequiredRestartMembers: WireMemberTable {
    package let key = WireMember<String>("key")
    package let reason = WireMember<String>("reason")

    package static let table = Self()
}

/// The output of `tokenagent --check-config --json` about a file.
package typealias ConfigurationCheckResultMessage = WireMessage<ConfigurationCheckResultMembers>

package struct ConfigurationCheckResultMembers: WireMemberTable {
    package let file = WireMember<String>("file")
    package let isGood = WireMember<Bool>("ok")
    package let sessions = WireMember<Int64>("sessions", isOptional: true)
    package let problems = WireMember<[ProblemMessage]>("problems")
    /// The session that `--session` requests, if it is configured or named.
    package let session = WireMember<SessionLocationMessage>("session", isOptional: true)
    /// The differences of the running agent, which `tokenctl config check` adds.
    package let agent = WireMember<[String]>("agent", isOptional: true)

    package static let table = Self()
}

/// The location of a session's table.
package typealias SessionLocationMessage = WireMessage<SessionLocationMembers>

package struct SessionLocationMembers: WireMemberTable {
    /// The path of the file, absent for the configuration file itself.
    package let file = WireMember<String>("file", isOptional: true)
    package let line = WireMember<Int64>("line", isOptional: true)
    /// The tables that name the session.
    package let namedBy = WireMember<[String]>("named_by")
    /// The keys of the table.
    package let own = WireMember<JSONObject>("own", isOptional: true)
    package let provider = WireMember<String>("provider", isOptional: true)
    /// The keys of the provider that the table does not set.
    package let provided = WireMember<JSONObject>("provided", isOptional: true)
    /// The permitted recipients of the session's tokens according to its table, absent if there is no table.
    package let settings = WireMember<SessionMessage>("settings", isOptional: true)

    package static let table = Self()
}

/// An error in a configuration.
package typealias ProblemMessage = WireMessage<ProblemMembers>

package struct ProblemMembers: WireMemberTable {
    package let file = WireMember<String>("file", isOptional: true)
    package let line = WireMember<Int64>("line", isOptional: true)
    package let key = WireMember<String>("key", isOptional: true)
    package let message = WireMember<String>("message")

    package static let table = Self()
}
