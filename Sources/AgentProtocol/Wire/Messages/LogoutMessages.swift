// SPDX-License-Identifier: MIT

/// The body of `POST …/logout`.
package struct LogoutRequestMembers: WireMemberTable {
    package let local = WireMember<Bool>("local", isOptional: true)
    /// Whether the logout is meant for every host of the fleet.
    ///
    /// A reader, which logs out for itself only, rejects it.
    package let allHosts = WireMember<Bool>("all_hosts", isOptional: true)
    package let unregister = WireMember<Bool>("unregister", isOptional: true)

    package static let table = Self()
}

/// The status of the revocation at the server after a logout.
package enum RevocationStatus: String, CaseIterable, WireValue {
    case revoked
    /// There was no token to revoke.
    case nothing
    /// The client requested that the server be left out.
    case local
    /// The server does not support revocation.
    case unsupported
    /// The server's response was final, and the request is not repeated.
    case refused
    /// The server has not answered yet, and the request is repeated.
    case retrying
}

/// The response of `POST …/logout`.
package typealias LogoutMessage = WireMessage<LogoutResponseMembers>

package struct LogoutResponseMembers: WireMemberTable {
    package let session = WireMember<String>("session")
    package let state = WireMember<String>("state")
    package let revoked = WireMember<Bool>("revoked")
    package let told = WireMember<RevocationStatus>("told")
    package let message = WireMember<String>("message", isOptional: true)

    package static let table = Self()
}
