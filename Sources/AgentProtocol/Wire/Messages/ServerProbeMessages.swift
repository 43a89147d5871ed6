// SPDX-License-Identifier: MIT

/// The body of `POST /v1/examine`.
package struct ServerProbeRequestMembers: WireMemberTable {
    package let issuer = WireMember<String>("issuer", isOptional: true)
    package let resource = WireMember<String>("resource", isOptional: true)
    package let metadata = WireMember<String>("metadata_url", isOptional: true)
    package let caFile = WireMember<String>("ca_file", isOptional: true)

    package static let table = Self()
}

/// The response of `POST /v1/examine`: the capabilities of an issuer, in words listed in
/// tokenagent-protocol(7).
///
/// It includes the issuer's own spelling of its name, and the data of the resource that names it.
package typealias ServerProbeMessage = WireMessage<ServerProbeResponseMembers>

package struct ServerProbeResponseMembers: WireMemberTable {
    package let flows = WireMember<[String]>("flows")
    package let authentication = WireMember<[String]>("client_authentication", isOptional: true)
    package let scopes = WireMember<[String]>("scopes", isOptional: true)
    /// All scopes that the server lists, if they are few.
    package let allScopes = WireMember<[String]>("all_scopes", isOptional: true)
    package let features = WireMember<[String]>("features")
    package let resource = WireMember<String>("resource", isOptional: true)
    package let issuer = WireMember<String>("issuer", isOptional: true)
    package let remarks = WireMember<[String]>("remarks", isOptional: true)
    package let resourceScopes = WireMember<[String]>("resource_scopes", isOptional: true)

    package static let table = Self()
}

/// The output of `tokenctl add --json` and `tokenctl remove --json` about the file of a session.
package typealias ChangedSessionFileMessage = WireMessage<ChangedSessionFileMembers>

package struct ChangedSessionFileMembers: WireMemberTable {
    package let session = WireMember<String>("session")
    package let file = WireMember<String>("file")
    package let flow = WireMember<String>("flow", isOptional: true)
    package let scopes = WireMember<[String]>("scopes", isOptional: true)
    package let offer = WireMember<ServerProbeMessage>("offer", isOptional: true)
    package let notes = WireMember<[String]>("notes", isOptional: true)

    package static let table = Self()
}
