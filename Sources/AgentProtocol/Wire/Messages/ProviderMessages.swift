// SPDX-License-Identifier: MIT

import Text

/// The output of `tokenagent --list-providers`.
package typealias ProviderListMessage = WireMessage<ProviderListMembers>

package struct ProviderListMembers: WireMemberTable {
    package let providers = WireMember<[ProviderMessage]>("providers")
    /// The errors of files that cannot be used.
    package let problems = WireMember<[ProblemMessage]>("problems")

    package static let table = Self()
}

/// A provider, as its file describes it.
package typealias ProviderMessage = WireMessage<ProviderMembers>

package struct ProviderMembers: WireMemberTable {
    package let name = WireMember<String>("name")
    package let title = WireMember<String>("title")
    package let file = WireMember<String>("file")
    package let client = WireMember<String>("client", isOptional: true)
    package let registrationPage = WireMember<String>("register_at", isOptional: true)
    package let steps = WireMember<[String]>("console")
    /// The need of clients for a secret: `none`, `optional` or `required`.
    package let clientSecret = WireMember<String>("secret")
    /// The values that only the user knows.
    package let values = WireMember<[ProviderValueMessage]>("values")
    /// The keys that a session has to set itself, besides the client's.
    package let requiredKeys = WireMember<[String]>("requires")
    /// The meaning of each scope, by scope.
    package let scopes = WireMember<JSONObject>("scopes")
    package let facts = WireMember<[ProviderEvidenceMessage]>("facts")
    /// The keys of the session, with `{name}` for each value.
    package let session = WireMember<JSONObject>("session")

    package static let table = Self()
}

/// A value of a provider that only the user knows.
package typealias ProviderValueMessage = WireMessage<ProviderValueMembers>

package struct ProviderValueMembers: WireMemberTable {
    package let name = WireMember<String>("name")
    package let question = WireMember<String>("question")

    package static let table = Self()
}

/// The source of some keys of a provider.
package typealias ProviderEvidenceMessage = WireMessage<ProviderEvidenceMembers>

package struct ProviderEvidenceMembers: WireMemberTable {
    package let keys = WireMember<[String]>("keys")
    package let kind = WireMember<String>("kind")
    package let sources = WireMember<[String]>("sources")

    package static let table = Self()
}
