// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

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
