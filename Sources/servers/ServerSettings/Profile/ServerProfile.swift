// SPDX-License-Identifier: MIT

import TokenCore

/// The configuration of one session's authorization server and of its client there.
package struct ServerProfile: Equatable, Sendable {
    package var kind: Kind
    package var client: ClientIdentity
    /// The scopes requested at login, in this order.
    package var scopes: [String]
    /// The flow of a login that names none.
    package var flow: LoginFlow
    /// The parameters of a browser login in addition to ``scopes``.
    package var authorization: AuthorizationRequestOptions
    /// The value of `audience`, for vendors that require it.
    package var audience: String?
    /// The values of `resource`: absolute URIs without fragment (RFC 8707 §2).
    package var resources: [String]
    /// The grant that provides the session's tokens, or `nil` for a login or the client's credentials.
    package var grant: TokenGrant?
    package var trust: ServerTrust
    /// Whether tokens are bound to a key whose possession each request proves (RFC 9449).
    package var bindsTokens: Bool
    /// The endpoints that replace those in the metadata of an `oidc` server.
    package var endpoints: EndpointOverrides
    /// Whether a login without an ID token is rejected.
    package var requiresIDToken: Bool
    package var dialect: ServerDialect
    /// The `User-Agent` of the session's requests, or `nil` for the agent's own.
    package var userAgent: String?

    package init(
        kind: Kind,
        client: ClientIdentity,
        scopes: [String] = [],
        flow: LoginFlow = .browser,
        authorization: AuthorizationRequestOptions = AuthorizationRequestOptions(),
        audience: String? = nil,
        resources: [String] = [],
        grant: TokenGrant? = nil,
        trust: ServerTrust = ServerTrust(),
        bindsTokens: Bool = false,
        endpoints: EndpointOverrides = EndpointOverrides(),
        requiresIDToken: Bool = false,
        dialect: ServerDialect = ServerDialect(),
        userAgent: String? = nil
    ) {
        self.dialect = dialect
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

    /// The token endpoint, or `nil` if the configuration does not name it.
    package var writtenTokenEndpoint: String? {
        if case .oauth2(let fixed) = kind { return fixed.token }
        return kind.word.isStandard ? endpoints.token : nil
    }
}

/// Configured endpoints in addition to an issuer's metadata, for servers whose metadata omit one or name
/// another.
package struct EndpointOverrides: Hashable, Sendable {
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
    package var byName: [String: String] {
        let all = [
            "token_endpoint": token, "authorization_endpoint": authorization,
            "device_authorization_endpoint": deviceAuthorization, "revocation_endpoint": revocation,
            "end_session_endpoint": endSession, "jwks_uri": keySet,
        ]
        return all.compactMapValues(\.self)
    }
}

/// The certificates and keys that a server is trusted by, and the way to reach it.
package struct ServerTrust: Hashable, Sendable {
    /// The path of a PEM file with certificates that are trusted for this server, in addition to the
    /// system's.
    package var caFile: String?
    /// The accepted keys, each as `sha256/BASE64` of a SubjectPublicKeyInfo.
    ///
    /// If empty, any key is accepted.
    package var pins: [String]
    package var proxy: ProxySetting

    package init(caFile: String? = nil, pins: [String] = [], proxy: ProxySetting = .environment) {
        self.caFile = caFile
        self.pins = pins
        self.proxy = proxy
    }
}
