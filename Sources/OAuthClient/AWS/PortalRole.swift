// SPDX-License-Identifier: MIT

import TokenCore

/// A role that IAM Identity Center has assigned to whoever is logged in to another session, as the configuration names
/// it (kind `aws_role`).
package struct PortalRole: Equatable, Sendable {
    package var role: AssignedRole
    /// The address of the portal's service, which the other session names; `nil` until that is looked up.
    package var portal: String?

    package init(_ role: AssignedRole, portal: String? = nil) {
        self.role = role
        self.portal = portal
    }
}

/// Such a role, given for the other session's access token.
struct PortalRoleServer: RoleServer {
    let profile: ServerProfile
    let role: PortalRole
    let tools: ServerDependencies

    func fetch(_ request: RefreshRequest) async throws(RefreshFailure) -> GrantedTokens {
        let portal = AccessPortal(address: role.portal ?? "", trust: profile.trust, tools: tools)
        return try await portal.credentials(of: role.role, for: request.sources.subject)
    }
}
