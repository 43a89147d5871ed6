// SPDX-License-Identifier: MIT

/// The body of `POST …/logout`.
package struct LogoutMembers: WireMembers {
    package let local = WireMember<Bool>("local", isOptional: true)
    /// Every host of the fleet is meant for certain.
    package let allHosts = WireMember<Bool>("all_hosts", isOptional: true)
    package let unregister = WireMember<Bool>("unregister", isOptional: true)

    package static let table = Self()
}

/// What the server was told at a logout.
package enum RevocationStatus: String, CaseIterable, WireValue {
    case revoked
    /// There was no token to revoke.
    case nothing
    /// The caller wanted the server left out.
    case local
    /// The server has no way to revoke.
    case unsupported
    /// The server's answer was final; it is not asked again.
    case refused
    /// The server has not answered yet and is asked again.
    case retrying
}

/// The answer of `POST …/logout`.
package typealias LogoutMessage = WireMessage<LogoutAnswerMembers>

package struct LogoutAnswerMembers: WireMembers {
    package let session = WireMember<String>("session")
    package let state = WireMember<String>("state")
    package let revoked = WireMember<Bool>("revoked")
    package let told = WireMember<RevocationStatus>("told")
    package let message = WireMember<String>("message", isOptional: true)

    package static let table = Self()
}
