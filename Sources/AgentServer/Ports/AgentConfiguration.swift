// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The part of the configuration that the agent itself needs.
package struct AgentConfiguration: Equatable, Sendable {
    package var sessions: [SessionName: SessionSettings]
    package var sockets: [RestrictedSocket]
    package var files: [TokenFileTarget]
    /// The digests of the tables `[[proxy]]` and `[[endpoint]]`, by their names.
    package var listeners: [ByteText: String]
    /// Whether root may connect to the socket of another user's agent.
    package var allowsRoot: Bool
    /// Whether the audit log is written.
    package var keepsAudit: Bool
    /// The command that asks a person whether a peer may do something; empty: nobody can be asked.
    package var confirmCommand: [String]
    /// What keeps sessions from being among ``sessions``, or as they were before.
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
    /// The session that the tokens of `name` are made from in the end; itself, if they are made from no other's.
    func origin(of name: SessionName) -> SessionName {
        var origin = name
        var seen: Set<SessionName> = []
        while seen.insert(origin).inserted, let source = sessions[origin]?.sources.subject {
            origin = source.session
        }
        return origin
    }
}

/// One session of the configuration.
package struct SessionSettings: Equatable, Sendable {
    package var policy: SessionPolicy
    /// As in the configuration: `oidc`, `oauth2`, `json`, `cognito`, `command`, `aws_sso`, `aws_role`, `github_app`.
    package var kind: String
    /// Where the session's tokens come from, for people: the issuer or the host of its endpoints.
    package var issuer: String
    /// What the server counts as in the pace of refreshes, where that is not ``issuer``.
    package var pacedAs: String?
    /// Changes exactly when a setting changes that decides where secrets are sent or who the client is.
    package var fingerprint: String
    /// The servers that its tokens are for, as helpers of other programs need to know.
    package var hosts: [String]
    /// The protected resource that names the session's issuer.
    package var resource: String?
    /// The addresses that its tokens are requested for (RFC 8707).
    package var resources: [String]
    /// Nobody wrote ``hosts``: they are the server of ``resource``, whose path counts too.
    package var hasHostsOfResource: Bool
    /// Error codes of resource servers that mean: refresh, then try again.
    package var refreshCodes: Set<String>
    /// Error codes of resource servers that mean: the session is over.
    package var endCodes: Set<String>
    /// Where resource servers put these codes, and how they say that the session is over.
    package var jsonResponsePaths: JSONResponsePaths
    /// Whether the session is over when a resource server refuses the refreshed token too.
    package var endsWithSecondRefusal: Bool
    /// The command that prints the password or assertion for ``SilentLogin/command``; empty if there is none.
    package var reauthCommand: [String]
    /// Peers that may see the session; empty: all that may connect.
    package var rules: [AllowRule]
    /// The scopes asked for at a login, in this order.
    package var scopes: [String]
    /// The sessions that its tokens are made from.
    package var sources: SessionSources
    /// What a person does who wants to log in to a session that has no login; `nil`: it takes logins.
    package var loginSubstitute: String?
    /// What the fleet's record of the session has to say as well; `nil`: it is this host's alone.
    package var fleetBinding: FleetBinding?

    package init(
        policy: SessionPolicy,
        kind: String,
        issuer: String,
        pacedAs: String? = nil,
        fingerprint: String,
        endings: [String] = [],
        hosts: [String] = [],
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
        loginSubstitute: String? = nil,
        fleetBinding: FleetBinding? = nil
    ) {
        self.policy = policy
        // A change shows also in what was made before the agent started. The hosts of a fleet compare more than that.
        self.policy.madeOf =
            policy.isShared ? nil : LoginSettings(fingerprint: fingerprint, endings: endings).text
        self.kind = kind
        self.issuer = issuer
        self.pacedAs = pacedAs
        self.fingerprint = fingerprint
        self.hosts = hosts
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

    /// What shares one pace of refreshes: the sessions of an issuer.
    ///
    /// A program has no issuer, and its failures hold up no other session.
    func paceKey(of name: SessionName) -> String {
        kind == "command" ? "command \(name)" : pacedAs ?? issuer
    }

    /// What the server does with a refresh token that was sent before, as far as the configuration tells.
    var reuse: FleetTiming.Reuse {
        // Cognito's InitiateAuth keeps the refresh token.
        kind == "cognito" ? .accepted : policy.reuseGrace.map { .acceptedFor($0) } ?? .refused
    }

    /// Whether a login to it can ask for scopes, acr and a maximum age.
    var loginAsksForMore: Bool { loginSubstitute == nil && ["oidc", "oauth2"].contains(kind) }

    /// Whether it has the credentials of a role in place of a token.
    var hasRoleCredentials: Bool { policy.roles == .own }

    /// Whether every peer that may connect sees the session.
    var isOpen: Bool { rules.isEmpty && sources.rules.isEmpty }

    /// What its own rules and those of its sources say about a peer, the strictest of them.
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
    /// One of them, and which of its tokens is used.
    package struct Source: Equatable, Sendable {
        package var session: SessionName
        package var usesIDToken: Bool
        /// Its token is shown as an assertion, which a server may take only once (RFC 7523 §3 (7)).
        package var isShownOnce: Bool

        package init(session: SessionName, usesIDToken: Bool = false, isShownOnce: Bool = false) {
            self.session = session
            self.usesIDToken = usesIDToken
            self.isShownOnce = isShownOnce
        }
    }

    /// Whom the tokens stand for.
    package var subject: Source?
    /// Who acts for the subject.
    package var actor: Source?
    /// The rules of each of them that has some, and of those that they are made from: a peer has to fit all.
    package var rules: [[AllowRule]]

    package init(subject: Source? = nil, actor: Source? = nil, rules: [[AllowRule]] = []) {
        self.subject = subject
        self.actor = actor
        self.rules = rules
    }

    var all: [Source] { [subject, actor].compactMap(\.self) }
}
