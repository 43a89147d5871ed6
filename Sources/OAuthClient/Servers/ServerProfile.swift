// SPDX-License-Identifier: MIT

import TokenCore

/// What the configuration says about one session's authorization server and our registration there.
package struct ServerProfile: Equatable, Sendable {
    /// Which protocol the server speaks.
    ///
    /// Indirect but for the commonest: otherwise each would take the room of the largest.
    package enum Kind: Equatable, Sendable {
        /// OpenID Connect, or OAuth 2.0 with published metadata: everything follows from the issuer, and from the address
        /// of its metadata where that is another.
        case oidc(issuer: String, metadata: String? = nil)
        /// The same, with the issuer that a protected resource names at each login.
        indirect case resource(ProtectedResource)
        /// OAuth 2.0 with the endpoints written down by hand.
        indirect case oauth2(FixedEndpoints)
        /// JSON endpoints as mobile back ends have them.
        indirect case json(JSONBackEnd)
        /// An Amazon Cognito user pool, spoken to in Amazon's own protocol.
        indirect case cognito(CognitoPool)
        /// A program that prints tokens.
        indirect case command(CommandSource)
        /// IAM Identity Center of Amazon Web Services.
        indirect case identityCenter(IdentityCenter)
        /// A role of Amazon Web Services, given for the token of another session.
        indirect case awsRole(AWSRole)
        /// A role that IAM Identity Center has assigned to whoever is logged in to another session.
        indirect case portalRole(PortalRole)
        /// An installation of a GitHub App.
        indirect case gitHubApp(GitHubApp)
    }

    package var kind: Kind
    package var client: ClientIdentity
    /// Asked for at login, in this order.
    package var scopes: [String]
    /// The flow of a login that names none.
    package var flow: LoginFlow
    /// What a login in the browser asks for beside ``scopes``.
    package var authorization: AuthorizationRequest
    /// Sent as `audience` where a vendor wants that.
    package var audience: String?
    /// Sent as `resource`, absolute URIs without fragment (RFC 8707 §2).
    package var resources: [String]
    /// What the session's tokens are given for; `nil`: a login, or the client's credentials.
    package var grant: TokenGrant?
    package var trust: ServerTrust
    /// Tokens are bound to a key whose possession each request proves (RFC 9449).
    package var bindsTokens: Bool
    /// Endpoints that replace those in the metadata of an `oidc` server.
    package var endpoints: ConfiguredEndpoints
    /// A login without an ID token is not accepted.
    package var requiresIDToken: Bool
    /// What the lifetimes in token responses are counted in.
    package var lifetimeUnit: LifetimeUnit
    /// `User-Agent` of its requests; `nil`: as usual.
    package var userAgent: String?

    package init(
        kind: Kind,
        client: ClientIdentity,
        scopes: [String] = [],
        flow: LoginFlow = .browser,
        authorization: AuthorizationRequest = AuthorizationRequest(),
        audience: String? = nil,
        resources: [String] = [],
        grant: TokenGrant? = nil,
        trust: ServerTrust = ServerTrust(),
        bindsTokens: Bool = false,
        endpoints: ConfiguredEndpoints = ConfiguredEndpoints(),
        requiresIDToken: Bool = false,
        lifetimeUnit: LifetimeUnit = .seconds,
        userAgent: String? = nil
    ) {
        self.lifetimeUnit = lifetimeUnit
        self.requiresIDToken = requiresIDToken
        self.kind = kind
        self.client = client
        self.scopes = scopes
        self.flow = flow
        self.authorization = authorization
        self.audience = audience
        self.resources = resources
        self.grant = grant
        self.trust = trust
        self.bindsTokens = bindsTokens
        self.endpoints = endpoints
        self.userAgent = userAgent
    }

    /// The token endpoint, where the configuration names it.
    var writtenTokenEndpoint: String? {
        if case .oauth2(let fixed) = kind { return fixed.token }
        return kind.identity.kind.isStandard ? endpoints.token : nil
    }
}

/// Endpoints the configuration names beside an issuer's metadata: for servers that leave one out or have it elsewhere.
package struct ConfiguredEndpoints: Hashable, Sendable {
    package var token: String?
    package var authorization: String?
    package var deviceAuthorization: String?
    package var revocation: String?
    package var endSession: String?
    package var keySet: String?

    package init(
        token: String? = nil,
        authorization: String? = nil,
        deviceAuthorization: String? = nil,
        revocation: String? = nil,
        endSession: String? = nil,
        keySet: String? = nil
    ) {
        self.token = token
        self.authorization = authorization
        self.deviceAuthorization = deviceAuthorization
        self.revocation = revocation
        self.endSession = endSession
        self.keySet = keySet
    }

    /// The endpoints by their names in metadata and configuration.
    var byName: [String: String] {
        let all = [
            "token_endpoint": token, "authorization_endpoint": authorization,
            "device_authorization_endpoint": deviceAuthorization, "revocation_endpoint": revocation,
            "end_session_endpoint": endSession, "jwks_uri": keySet,
        ]
        return all.compactMapValues(\.self)
    }
}

/// Endpoints of a server without metadata.
package struct FixedEndpoints: Hashable, Sendable {
    /// Compared with the `iss` of authorization responses where it is known (RFC 9207 §2.4).
    package var issuer: String?
    package var token: String
    package var authorization: String?
    package var deviceAuthorization: String?
    package var revocation: String?
    package var endSession: String?
    /// With it the signatures of ID tokens are checked; without it TLS vouches for them (OIDC Core §3.1.3.7 (6)).
    package var keySet: String?

    package init(
        token: String,
        authorization: String? = nil,
        deviceAuthorization: String? = nil,
        revocation: String? = nil,
        endSession: String? = nil,
        keySet: String? = nil,
        issuer: String? = nil
    ) {
        self.token = token
        self.authorization = authorization
        self.deviceAuthorization = deviceAuthorization
        self.revocation = revocation
        self.endSession = endSession
        self.keySet = keySet
        self.issuer = issuer
    }
}

/// How a server is reached, and which certificates and keys make it trusted.
package struct ServerTrust: Hashable, Sendable {
    /// PEM file of certificates that are roots for this server, beside the system's.
    package var caFile: String?
    /// `sha256/BASE64` of a SubjectPublicKeyInfo each; the server's key must be one of them; empty: any key.
    package var pins: [String]
    package var proxy: ProxyChoice

    package init(caFile: String? = nil, pins: [String] = [], proxy: ProxyChoice = .environment) {
        self.caFile = caFile
        self.pins = pins
        self.proxy = proxy
    }
}
