// SPDX-License-Identifier: MIT

import TokenCore

/// What of the configuration the agent itself needs.
package struct AgentConfiguration: Equatable, Sendable {
    package var sessions: [SessionName: SessionSettings]

    package init(sessions: [SessionName: SessionSettings]) {
        self.sessions = sessions
    }
}

/// One session of the configuration.
package struct SessionSettings: Equatable, Sendable {
    package var policy: SessionPolicy
    /// As in the configuration: `oidc`, `oauth2`, `json`, `cognito`.
    package var kind: String
    /// Whom the session belongs to, for people: the issuer or the host of its endpoints.
    package var issuer: String
    /// Changes exactly when a setting changes that decides where secrets are sent or who the client is.
    package var fingerprint: String
    /// Error codes of resource servers that mean: refresh, then try again.
    package var refreshCodes: Set<String>
    /// Error codes of resource servers that mean: the session is over.
    package var endCodes: Set<String>
    /// Prints the password for ``SilentLogin/command``; empty when there is none.
    package var reauthCommand: [String]

    package init(
        policy: SessionPolicy,
        kind: String,
        issuer: String,
        fingerprint: String,
        refreshCodes: Set<String> = [],
        endCodes: Set<String> = [],
        reauthCommand: [String] = []
    ) {
        self.policy = policy
        self.kind = kind
        self.issuer = issuer
        self.fingerprint = fingerprint
        self.refreshCodes = refreshCodes
        self.endCodes = endCodes
        self.reauthCommand = reauthCommand
    }
}
