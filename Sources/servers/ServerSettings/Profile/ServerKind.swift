// SPDX-License-Identifier: MIT

import TokenCore

/// The values of `kind` in the configuration, and the properties of such servers.
package enum ServerKind: String, CaseIterable, Sendable {
    case oidc
    case oauth2
    case json
    case cognito
    case command
    case identityCenter = "aws_sso"
    case awsRole = "aws_role"
    case gitHubApp = "github_app"

    /// Whether the server uses OAuth 2.0 as in RFC 6749.
    package var isStandard: Bool { self == .oidc || self == .oauth2 }

    /// Whether such a server has registered clients.
    package var hasClients: Bool { isStandard || self == .cognito }

    /// Whether the configuration may name a client secret.
    package var takesClientSecret: Bool { hasLogins && self != .identityCenter }

    /// Whether it is a server at all, with an address and a certificate.
    package var isServer: Bool { self != .command }

    /// Whether users log in to the server through a client.
    package var hasLogins: Bool { isServer && self != .awsRole && self != .gitHubApp }

    /// The ways to log in, or none if the tokens come without a login.
    package var flows: [LoginFlow] {
        if isStandard { return LoginFlow.allCases }
        if self == .identityCenter { return [.device] }
        return hasLogins ? [.password, .import] : []
    }

    /// Whether a program can log in instead of the user.
    package var hasNoninteractiveLogins: Bool { flows.contains(.password) }

    /// The flow of a session that names none.
    ///
    /// Without logins it is ``LoginFlow/clientCredentials``, which needs no user.
    package var defaultFlow: LoginFlow { isStandard ? .browser : flows.first ?? .clientCredentials }
}

extension ServerProfile.Kind {
    /// The values that distinguish one server from another.
    package struct Identity: Equatable, Sendable {
        package var kind: ServerKind
        /// The address that a session needs for a refresh.
        package var address: String
        /// The pool at the address, if there may be several.
        package var pool: String?
        /// The issuer of the server's ID tokens, or `nil` if the configuration names none and any is
        /// accepted.
        package var issuer: String?
    }

    package var identity: Identity {
        switch self {
        // A server's data belong to the address of its metadata: any document may name any issuer.
        case .oidc(let issuer, let metadata):
            Identity(
                kind: .oidc,
                address: metadata ?? issuer,
                pool: metadata == nil ? nil : issuer,
                issuer: issuer
            )
        case .resource(let resource):
            Identity(
                kind: .oidc,
                address: resource.address,
                pool: resource.metadata ?? resource.issuer,
                issuer: resource.issuer
            )
        case .oauth2(let endpoints):
            Identity(kind: .oauth2, address: endpoints.token, issuer: endpoints.issuer)
        case .json(let backEnd): Identity(kind: .json, address: backEnd.refreshURL)
        case .cognito(let pool): Identity(kind: .cognito, address: pool.url, pool: pool.userPoolID)
        case .command(let source): Identity(kind: .command, address: source.command.first ?? "")
        case .identityCenter(let center):
            Identity(kind: .identityCenter, address: center.tokenService, pool: center.startURL)
        case .awsRole(let role): Identity(kind: .awsRole, address: role.endpoint)
        case .portalRole(let role): Identity(kind: .awsRole, address: role.portal ?? "")
        case .gitHubApp(let app): Identity(kind: .gitHubApp, address: app.apiURL)
        }
    }
}
