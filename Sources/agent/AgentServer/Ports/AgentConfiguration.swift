// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The part of the configuration that the agent itself uses.
package struct AgentConfiguration: Equatable, Sendable {
    package var sessions: [SessionName: SessionSettings]
    package var sockets: [RestrictedSocket]
    package var files: [TokenFileTarget]
    /// The digests of the `[[proxy]]` and `[[endpoint]]` tables, by name.
    package var listeners: [ByteText: String]
    /// Whether root may connect to the socket of another user's agent.
    package var allowsRoot: Bool
    /// Whether the audit log is written.
    package var keepsAudit: Bool
    /// The command that asks the user for confirmation; if empty, no confirmation is possible.
    package var confirmCommand: [String]
    /// The errors that exclude sessions from ``sessions``, or leave them with their previous settings.
    package var mistakes: [SessionConfigurationError]

    package init(
        sessions: [SessionName: SessionSettings],
        sockets: [RestrictedSocket] = [],
        files: [TokenFileTarget] = [],
        listeners: [ByteText: String] = [:],
        allowsRoot: Bool = false,
        keepsAudit: Bool = true,
        confirmCommand: [String] = [],
        mistakes: [SessionConfigurationError] = []
    ) {
        self.sessions = sessions
        self.sockets = sockets
        self.files = files
        self.listeners = listeners
        self.allowsRoot = allowsRoot
        self.keepsAudit = keepsAudit
        self.confirmCommand = confirmCommand
        self.mistakes = mistakes
    }
}

extension AgentConfiguration {
    /// Returns the session from which the tokens of `name` originate, which is `name` itself if it has no
    /// source.
    func origin(of name: SessionName) -> SessionName {
        var origin = name
        var seen: Set<SessionName> = []
        while seen.insert(origin).inserted, let source = sessions[origin]?.sources.subject {
            origin = source.session
        }
        return origin
    }
}

/// The settings of one session.
package struct SessionSettings: Equatable, Sendable {
    package var policy: SessionPolicy
    /// The kind as in the configuration: `oidc`, `oauth2`, `json`, `cognito`, `command`, `aws_sso`,
    /// `aws_role`, `github_app`.
    package var kind: String
    /// The origin of the session's tokens as shown to the user: the issuer, or the host of its endpoints.
    package var issuer: String
    /// The server's name for the pacing of refreshes, or `nil` if it is ``issuer``.
    package var pacedAs: String?
    /// A fingerprint that changes exactly when a setting changes that decides where secrets are sent or who
    /// the client is.
    package var fingerprint: String
    /// The hosts that the tokens are for, as needed by integrations with other programs.
    package var hosts: [String]
    /// The kept members that are from token responses, and not from a redirect.
    package var responseMembers: Set<String>
    /// The protected resource in whose metadata the session's issuer is named.
    package var resource: String?
    /// The resource indicators for which tokens are requested (RFC 8707).
    package var resources: [String]
    /// Whether ``hosts`` is not configured and was taken from ``resource``, whose path is then significant
    /// too.
    package var hasHostsOfResource: Bool
    /// Error codes of resource servers that require a refresh before the request is repeated.
    package var refreshCodes: Set<String>
    /// Error codes of resource servers that end the session.
    package var endCodes: Set<String>
    /// The locations of these codes in resource servers' responses, and the signs that the session has ended.
    package var jsonResponsePaths: JSONResponsePaths
    /// Whether the session ends if a resource server rejects the refreshed token too.
    package var endsWithSecondRefusal: Bool
    /// The command that prints the password or assertion for ``NoninteractiveLoginMethod/command``, or empty
    /// if there is none.
    package var reauthCommand: [String]
    /// The rules for peers that may see the session; if empty, all peers that may connect see it.
    package var rules: [AllowRule]
    /// The scopes requested at a login, in this order.
    package var scopes: [String]
    /// The sessions that the tokens are made from.
    package var sources: SessionSources
    /// The user's alternative to a login for a session without one, or `nil` if the session takes logins.
    package var loginSubstitute: Remedy?
    /// The settings that the fleet's record of the session must match, or `nil` if the session is not shared.
    package var fleetBinding: FleetLoginSettings?

    package init(
        policy: SessionPolicy,
        kind: String,
        issuer: String,
        pacedAs: String? = nil,
        fingerprint: String,
        endings: [String] = [],
        hosts: [String] = [],
        responseMembers: Set<String> = [],
        resource: String? = nil,
        resources: [String] = [],
        hasHostsOfResource: Bool = false,
        refreshCodes: Set<String> = [],
        endCodes: Set<String> = [],
        jsonResponsePaths: JSONResponsePaths = JSONResponsePaths(),
        endsWithSecondRefusal: Bool = false,
        reauthCommand: [String] = [],
        rules: [AllowRule] = [],
        scopes: [String] = [],
        sources: SessionSources = SessionSources(),
        loginSubstitute: Remedy? = nil,
        fleetBinding: FleetLoginSettings? = nil
    ) {
        self.policy = policy
        // The record stores these settings, so that a change made while the agent was stopped, or on another
        // host of the fleet, is noticed too.
        self.policy.madeOf = LoginSettingsFingerprint(fingerprint: fingerprint, endings: endings).text
        self.kind = kind
        self.issuer = issuer
        self.pacedAs = pacedAs
        self.fingerprint = fingerprint
        self.hosts = hosts
        self.responseMembers = responseMembers
        self.resource = resource
        self.resources = resources
        self.hasHostsOfResource = hasHostsOfResource
        self.refreshCodes = refreshCodes
        self.endCodes = endCodes
        self.jsonResponsePaths = jsonResponsePaths
        self.endsWithSecondRefusal = endsWithSecondRefusal
        self.reauthCommand = reauthCommand
        self.rules = rules
        self.scopes = scopes
        self.sources = sources
        self.loginSubstitute = loginSubstitute
        self.fleetBinding = fleetBinding
    }

    /// Returns the key of the pacing of refreshes, which the sessions of an issuer share.
    ///
    /// A command has no issuer, so its failures delay no other session.
    func paceKey(of name: SessionName) -> String {
        kind == "command" ? "command \(name)" : pacedAs ?? issuer
    }

    /// The server's treatment of a reused refresh token, as far as the configuration defines it.
    var reuse: FleetTiming.RefreshTokenReuse {
        // Cognito's InitiateAuth does not rotate the refresh token.
        kind == "cognito" ? .accepted : policy.reuseGrace.map { .acceptedFor($0) } ?? .refused
    }

    /// Whether a login can request scopes, acr and a maximum age.
    var loginAsksForMore: Bool { loginSubstitute == nil && ["oidc", "oauth2"].contains(kind) }

    /// Whether the session provides the credentials of a role instead of a token.
    var hasRoleCredentials: Bool { policy.roles == .own }

    /// Whether every peer that may connect sees the session.
    var isOpen: Bool { rules.isEmpty && sources.rules.isEmpty }

    /// Returns the strictest admission of a peer under the session's rules and those of its sources.
    func admission(of facts: PeerIdentity?) -> PeerAdmission {
        var strictest = rules.admission(of: facts)
        for rules in sources.rules where strictest != .hidden {
            switch rules.admission(of: facts) {
            case .allowed: break
            case .askingFirst: strictest = .askingFirst
            case .hidden: strictest = .hidden
            }
        }
        return strictest
    }
}

/// The sessions that a session's tokens are made from (RFC 8693 §2.1).
package struct SessionSources: Equatable, Sendable {
    /// A source session, and the kind of its token that is used.
    package struct Source: Equatable, Sendable {
        package var session: SessionName
        package var usesIDToken: Bool
        /// Whether the token is used as an assertion, which a server may accept only once (RFC 7523 §3 (7)).
        package var isShownOnce: Bool

        package init(session: SessionName, usesIDToken: Bool = false, isShownOnce: Bool = false) {
            self.session = session
            self.usesIDToken = usesIDToken
            self.isShownOnce = isShownOnce
        }
    }

    /// The source of the subject's token.
    package var subject: Source?
    /// The source of the actor's token, who acts for the subject.
    package var actor: Source?
    /// The rules of each direct and indirect source that has some; a peer must satisfy all of them.
    package var rules: [[AllowRule]]

    package init(subject: Source? = nil, actor: Source? = nil, rules: [[AllowRule]] = []) {
        self.subject = subject
        self.actor = actor
        self.rules = rules
    }

    var all: [Source] { [subject, actor].compactMap(\.self) }
}
