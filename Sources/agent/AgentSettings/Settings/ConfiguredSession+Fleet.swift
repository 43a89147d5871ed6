// SPDX-License-Identifier: MIT

import TokenCore

/// The session as a member of a fleet.
extension ConfiguredSession {
    /// Whether all hosts of the fleet share the session (`fleet`).
    package var isShared: Bool { policy.isShared }

    /// The identity that must match in the session's record, which other hosts also write.
    ///
    /// It contains only what is configured. A discovered endpoint follows from the issuer, so it is empty
    /// here unless the metadata URL is set.
    package var fleetBinding: FleetLoginSettings {
        let identity = server.identity
        return FleetLoginSettings(
            kind: server.word.rawValue,
            issuer: issuerShown,
            client: client.isUnregistered ? client.metadataURL ?? "" : client.id,
            endpoint: server.word == .oidc
                ? endpoints.token ?? server.metadataAddress ?? "" : identity.address
        )
    }
}
