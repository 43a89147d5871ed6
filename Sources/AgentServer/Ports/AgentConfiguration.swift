// SPDX-License-Identifier: MIT

import TokenCore

/// What of the configuration the agent itself needs.
package struct AgentConfiguration: Equatable, Sendable {
    package var sessions: [SessionName: SessionSettings]
    package var sockets: [RestrictedSocket]
    /// The administrator may connect to the socket of another user's agent.
    package var allowsRoot: Bool
    /// Each token given out is written down.
    package var keepsAudit: Bool
    /// Asks a person whether a peer may have a token; empty: nobody can be asked.
    package var confirmCommand: [String]

    package init(
        sessions: [SessionName: SessionSettings],
        sockets: [RestrictedSocket] = [],
        allowsRoot: Bool = false,
        keepsAudit: Bool = true,
        confirmCommand: [String] = []
    ) {
        self.sessions = sessions
        self.sockets = sockets
        self.allowsRoot = allowsRoot
        self.keepsAudit = keepsAudit
        self.confirmCommand = confirmCommand
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
    /// For whom its tokens are, as helpers of other programs want to know it.
    package var hosts: [String]
    /// Error codes of resource servers that mean: refresh, then try again.
    package var refreshCodes: Set<String>
    /// Error codes of resource servers that mean: the session is over.
    package var endCodes: Set<String>
    /// With `true` in it, this member of a resource server's answer means that the session is over; `nil`: none does.
    package var loginDemandMember: String?
    /// Whether a resource server that refuses a refreshed token too has ended the session.
    package var endsWithSecondRefusal: Bool
    /// Prints the password for ``SilentLogin/command``; empty when there is none.
    package var reauthCommand: [String]
    /// Peers that may see the session; empty: all that may connect.
    package var rules: [AllowRule]
    /// Asked for at a login, in this order.
    package var scopes: [String]

    package init(
        policy: SessionPolicy,
        kind: String,
        issuer: String,
        fingerprint: String,
        hosts: [String] = [],
        refreshCodes: Set<String> = [],
        endCodes: Set<String> = [],
        loginDemandMember: String? = nil,
        endsWithSecondRefusal: Bool = false,
        reauthCommand: [String] = [],
        rules: [AllowRule] = [],
        scopes: [String] = []
    ) {
        self.policy = policy
        self.kind = kind
        self.issuer = issuer
        self.fingerprint = fingerprint
        self.hosts = hosts
        self.refreshCodes = refreshCodes
        self.endCodes = endCodes
        self.loginDemandMember = loginDemandMember
        self.endsWithSecondRefusal = endsWithSecondRefusal
        self.reauthCommand = reauthCommand
        self.rules = rules
        self.scopes = scopes
    }
}
