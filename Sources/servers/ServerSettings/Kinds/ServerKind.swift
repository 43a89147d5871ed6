// SPDX-License-Identifier: MIT

import TokenCore

/// The values of `kind` in the configuration, and the properties of such servers.
///
/// A kind has a folder beside this file, with its settings and the reader of its keys, a line in each switch of
/// this file, and a client in `AuthorizationServers` (`OAuthClient`).
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

    /// Whether tokens remain valid after the end of the login, or come without one.
    package var tokensOutliveLogin: Bool { isStandard || self == .command || self == .gitHubApp }

    /// Whether a program can log in instead of the user.
    package var hasNoninteractiveLogins: Bool { flows.contains(.password) }

    /// The flow of a session that names none.
    ///
    /// Without logins it is ``LoginFlow/clientCredentials``, which needs no user.
    package var defaultFlow: LoginFlow { isStandard ? .browser : flows.first ?? .clientCredentials }
}

extension ServerProfile {
    /// The kind of server with its settings.
    ///
    /// All but the commonest cases are indirect. Otherwise each would take the space of the largest.
    package enum Kind: Equatable, Sendable {
        /// OpenID Connect, or OAuth 2.0 with published metadata.
        ///
        /// Everything follows from the issuer, and from the address of its metadata if that is another.
        case oidc(issuer: String, metadata: String? = nil)
        /// OpenID Connect or OAuth 2.0, with the issuer that a protected resource names at each login.
        indirect case resource(ProtectedResource)
        /// OAuth 2.0 with the endpoints in the configuration.
        indirect case oauth2(FixedEndpoints)
        /// JSON endpoints, as mobile back ends have them.
        indirect case json(JSONBackEnd)
        /// An Amazon Cognito user pool, accessed in Amazon's own protocol.
        indirect case cognito(CognitoPool)
        /// A program that prints tokens.
        indirect case command(CommandSource)
        /// AWS IAM Identity Center.
        indirect case identityCenter(IdentityCenter)
        /// An AWS role, obtained with the token of another session.
        indirect case awsRole(AWSRole)
        /// An AWS role that IAM Identity Center has assigned to the user of another session.
        indirect case portalRole(PortalRole)
        /// An installation of a GitHub App.
        indirect case gitHubApp(GitHubApp)

        /// Reads the keys of `kind`, or returns `nil` with the reasons in the problem list.
        ///
        /// - Parameters:
        ///   - kind: the kind of server.
        ///   - table: the session's table.
        ///   - home: the home directory, for `~/` at the beginning of paths.
        package init?(_ kind: ServerKind, reading table: inout TableReader, home: String?) {
            if kind != .oidc, table.has("resource") { table.refuseResource(isStandard: kind.isStandard) }
            let read: Kind? =
                switch kind {
                case .oidc: table.has("resource") ? table.resource().map { .resource($0) } : table.issuer()
                case .oauth2: table.fixedEndpoints().map { .oauth2($0) }
                case .json: JSONBackEndReader.read(&table, home: home).map { .json($0) }
                case .cognito: table.cognitoPool().map { .cognito($0) }
                case .command: table.commandSource().map { .command($0) }
                case .identityCenter: table.identityCenter().map { .identityCenter($0) }
                case .awsRole: table.awsRole()
                case .gitHubApp: table.gitHubApp(home: home).map { .gitHubApp($0) }
                }
            guard let read else { return nil }
            self = read
        }

        private var parts: (word: ServerKind, settings: any ServerKindSettings) {
            switch self {
            case .oidc(let issuer, let metadata): (.oidc, OpenIDIssuer(name: issuer, metadata: metadata))
            case .resource(let resource): (.oidc, resource)
            case .oauth2(let endpoints): (.oauth2, endpoints)
            case .json(let backEnd): (.json, backEnd)
            case .cognito(let pool): (.cognito, pool)
            case .command(let source): (.command, source)
            case .identityCenter(let center): (.identityCenter, center)
            case .awsRole(let role): (.awsRole, role)
            case .portalRole(let role): (.awsRole, role)
            case .gitHubApp(let app): (.gitHubApp, app)
            }
        }

        /// The value of `kind` in the configuration.
        package var word: ServerKind { parts.word }

        /// The settings, with the properties that all kinds have.
        package var settings: any ServerKindSettings { parts.settings }

        /// The values that distinguish the server from others of its kind.
        package var identity: AuthorizationServerIdentity { settings.identity }
    }
}
