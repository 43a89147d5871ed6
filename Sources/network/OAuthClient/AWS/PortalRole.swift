// SPDX-License-Identifier: MIT

import TokenCore

/// A role that IAM Identity Center has assigned to the user of another session, from the configuration (kind
/// `aws_role`).
package struct PortalRole: Equatable, Sendable {
    package var role: AssignedAWSRole
    /// The URL of the portal service, which the other session names, or `nil` until it is resolved.
    package var portal: String?

    package init(_ role: AssignedAWSRole, portal: String? = nil) {
        self.role = role
        self.portal = portal
    }
}

/// A server that issues the credentials of a ``PortalRole`` for the other session's access token.
struct PortalRoleServer: RoleServer {
    let profile: ServerProfile
    let role: PortalRole
    let tools: ServerDependencies

    func fetch(_ request: RefreshRequest) async throws(RefreshFailure) -> GrantedTokens {
        let portal = AccessPortal(address: role.portal ?? "", trust: profile.trust, tools: tools)
        return try await portal.credentials(of: role.role, for: request.sources.subject)
    }
}
