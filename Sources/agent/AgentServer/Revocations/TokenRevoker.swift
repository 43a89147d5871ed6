// SPDX-License-Identifier: MIT

import TokenCore

/// Revokes tokens at the servers that issued them.
///
/// Confined to the agent's event loop.
struct TokenRevoker {
    let configuration: LiveConfiguration
    let authorization: any AuthorizationServing

    /// Revokes tokens at the server, unless the revocation address was configured after the login and belongs
    /// to another server.
    func outcome(of request: RevocationRequest, for name: SessionName) async -> RevocationOutcome {
        let present = configuration[name]?.policy.madeOf
        if let refusal = LoginSettingsFingerprint.refusal(of: request, under: present) {
            return .refused(refusal)
        }
        return await authorization.revoke(name, request)
    }
}
