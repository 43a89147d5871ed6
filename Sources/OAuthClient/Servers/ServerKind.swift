// SPDX-License-Identifier: MIT

import TokenCore

/// The values of `kind` in the configuration, and what each says about a server.
package enum ServerKind: String, CaseIterable, Sendable {
    case oidc
    case oauth2
    case json
    case cognito
    case command
    case identityCenter = "aws_sso"
    case awsRole = "aws_role"
    case gitHubApp = "github_app"

    /// Whether it speaks OAuth 2.0 as RFC 6749 has it.
    package var isStandard: Bool { self == .oidc || self == .oauth2 }

    /// Whether such a server registers clients.
    package var hasClients: Bool { isStandard || self == .cognito }

    /// Whether a client may have a secret that the configuration names.
    package var takesClientSecret: Bool { hasLogins && self != .identityCenter }

    /// Whether it is a server at all, with an address and a certificate.
    package var isServer: Bool { self != .command }

    /// Whether people log in to it, by a client and with what belongs to that.
    package var hasLogins: Bool { isServer && self != .awsRole && self != .gitHubApp }

    /// The ways to log in; none where the tokens come without a login.
    package var flows: [LoginFlow] {
        if isStandard { return LoginFlow.allCases }
        if self == .identityCenter { return [.device] }
        return hasLogins ? [.password, .import] : []
    }

    /// Whether a program can log in in place of a person.
    package var hasSilentLogins: Bool { flows.contains(.password) }

    /// The flow of a session that names none; without a login that is ``LoginFlow/clientCredentials``, which needs
    /// nobody.
    package var defaultFlow: LoginFlow { isStandard ? .browser : flows.first ?? .clientCredentials }
}

extension ServerProfile.Kind {
    /// What tells one server from another; a row for each kind.
    package struct Identity: Equatable, Sendable {
        package var kind: ServerKind
        /// The address without which a session cannot be refreshed.
        package var address: String
        /// The pool at the address, where there may be several.
        package var pool: String?
        /// The issuer of its ID tokens; `nil`: the configuration names none, so they may name any.
        package var issuer: String?
    }

    package var identity: Identity {
        switch self {
        // What belongs to a server belongs to the address of its metadata: anybody's document may name any issuer.
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
