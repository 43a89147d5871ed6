// SPDX-License-Identifier: MIT

import OAuthClient
import TokenCore

/// What a session is in a fleet.
extension ConfiguredSession {
    /// `fleet`: all hosts of the fleet have it.
    package var isShared: Bool { policy.isShared }

    /// What the record of the session, which other hosts write too, has to say as well.
    ///
    /// As far as the configuration goes: an endpoint that is discovered follows from the issuer, and is empty here unless
    /// the address of the metadata is written.
    package var fleetBinding: FleetBinding {
        let identity = server.identity
        return FleetBinding(
            kind: identity.kind.rawValue,
            issuer: issuerShown,
            client: client.isUnregistered ? client.metadataURL ?? "" : client.id,
            endpoint: identity.kind == .oidc
                ? endpoints.token ?? server.metadataAddress ?? "" : identity.address
        )
    }
}
