// SPDX-License-Identifier: MIT

import ArgumentParser
import Text

/// A provider whose settings are built in: the values that are the same for all its clients.
struct Preset: Sendable {
    let name: String
    /// The URL of the provider's documentation of these values.
    let source: String
    var kind = NewSessionServerKind.oidc
    /// The issuer, or `nil` if each account has its own.
    var issuer: String?
    /// The form of an account's issuer or access portal.
    var issuerForm = ""
    /// The endpoints of a provider without discovery.
    var endpoints: [ServerEndpointSetting] = []
    var flow: LoginCommand.Flow?
    var scopes = NewSession.usualScopes
    /// The port of the redirect URI, for providers that compare the URI exactly.
    var redirectPort: Int?
    /// The servers that the tokens are for.
    var hosts: [String] = []
    /// Whether the tokens are for the issuer's own server, which differs between installations.
    var isForIssuersHost = false
    /// The client to register, as a noun phrase that can follow "Register".
    let client: String
    /// Whether the provider gives secrets to clients on users' machines.
    var hasSecret = false
}

/// An endpoint that is set in the configuration.
struct ServerEndpointSetting: Equatable, Sendable {
    /// The key in the configuration.
    let key: String
    let address: String

    init(_ key: String, _ address: String) {
        self.key = key
        self.address = address
    }
}

/// The values of `kind` that `tokenctl add` can write.
enum NewSessionServerKind: String, CaseIterable, ExpressibleByArgument {
    case oidc
    case oauth2
    case cognito
    case awsRole = "aws_role"
    case awsSSO = "aws_sso"
    case githubApp = "github_app"

    /// Whether tokens are issued to a client that is registered first.
    var hasClients: Bool { isStandard || self == .cognito }

    /// Whether the address of an issuer, pool or portal identifies the server.
    var hasIssuer: Bool { self == .oidc || self == .cognito || self == .awsSSO }

    /// Whether the server is a standard one, with scopes and possibly token exchange (RFC 8693).
    var isStandard: Bool { self == .oidc || self == .oauth2 }

    /// Whether an AWS region identifies the server.
    var hasRegion: Bool { self == .awsRole || self == .awsSSO }
}

extension Preset: ExpressibleByArgument {
    init?(argument: String) {
        guard let preset = Preset.all.first(where: { $0.name.bytewise == argument.bytewise }) else {
            return nil
        }
        self = preset
    }

    static var allValueStrings: [String] { all.map(\.name) }

    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}

extension Preset {
    /// A port that no other program is known to use.
    private static let registeredPort = 8400
    /// The redirect URI for providers that follow RFC 8252 §7.3 and accept any port.
    private static let redirect = "the redirect URI http://127.0.0.1/callback"
    private static let registeredRedirect =
        "the redirect URI http://127.0.0.1:\(registeredPort)/callback"

    /// All presets in the order of `tokenctl add --help`.
    static let all: [Preset] = [
        // Desktop clients always get a refresh token, and Google does not support offline_access.
        Preset(
            name: "google",
            source: "https://developers.google.com/identity/protocols/oauth2/native-app",
            issuer: "https://accounts.google.com",
            scopes: ["openid", "email"],
            client: "a client of the type \"Desktop app\"",
            hasSecret: true
        ),
        // "common" in place of the tenant does not work: its metadata names no single issuer.
        Preset(
            name: "microsoft",
            source: "https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc",
            issuerForm: "https://login.microsoftonline.com/TENANT-ID/v2.0",
            client: "a public client with http://127.0.0.1/callback in its manifest"
        ),
        // GitHub has no discovery, and its device flow needs no secret.
        Preset(
            name: "github",
            source: "https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/"
                + "generating-a-user-access-token-for-a-github-app",
            kind: .oauth2,
            endpoints: [
                ServerEndpointSetting("authorization_endpoint", "https://github.com/login/oauth/authorize"),
                ServerEndpointSetting("token_endpoint", "https://github.com/login/oauth/access_token"),
                ServerEndpointSetting(
                    "device_authorization_endpoint",
                    "https://github.com/login/device/code"
                ),
            ],
            flow: .device,
            scopes: [],
            hosts: ["github.com", "api.github.com"],
            client: "a GitHub App with the device flow and expiring tokens"
        ),
        Preset(
            name: "gitlab",
            source: "https://docs.gitlab.com/integration/openid_connect_provider/",
            issuer: "https://gitlab.com",
            // read_api alone cannot push, and repositories over HTTP require more than the API (Scopes of an
            // access token).
            scopes: ["openid", "read_api", "write_repository"],
            hosts: ["gitlab.com"],
            isForIssuersHost: true,
            client: "a non-confidential client with \(redirect)"
        ),
        Preset(
            name: "keycloak",
            source: "https://www.keycloak.org/securing-apps/oidc-layers",
            issuerForm: "https://HOST/realms/REALM",
            client: "a public client with the standard flow and \(redirect)"
        ),
        Preset(
            name: "okta",
            source: "https://developer.okta.com/docs/guides/implement-grant-type/authcodepkce/main/",
            issuerForm: "https://ORGANIZATION.okta.com/oauth2/default",
            redirectPort: registeredPort,
            client: "a native application with refresh tokens and \(registeredRedirect)"
        ),
        // The issuer ends in a slash.
        Preset(
            name: "auth0",
            source: "https://auth0.com/docs/get-started/applications/application-settings",
            issuerForm: "https://TENANT.REGION.auth0.com/",
            redirectPort: registeredPort,
            client: "a native application with \(registeredRedirect)"
        ),
        Preset(
            name: "cognito",
            source: "https://docs.aws.amazon.com/cognito/latest/developerguide/federation-endpoints.html",
            kind: .cognito,
            issuerForm: "https://cognito-idp.REGION.amazonaws.com/POOL-ID",
            scopes: [],
            client: "an app client of the user pool"
        ),
        // "AWS access portal URL" and "Region" among the settings of IAM Identity Center; clients register
        // themselves.
        Preset(
            name: "aws-sso",
            source: "https://docs.aws.amazon.com/sdkref/latest/guide/feature-sso-credentials.html",
            kind: .awsSSO,
            issuerForm: "https://PORTAL.awsapps.com/start",
            scopes: [],
            client: "no client: each login registers one if necessary"
        ),
        Preset(
            name: "authentik",
            source: "https://docs.goauthentik.io/add-secure-apps/providers/oauth2/",
            issuerForm: "https://HOST/application/o/APPLICATION/",
            redirectPort: registeredPort,
            client: "a public client with \(registeredRedirect)"
        ),
        Preset(
            name: "gitea",
            source: "https://docs.gitea.com/development/oauth2-provider",
            issuerForm: "https://HOST",
            scopes: ["openid"],
            isForIssuersHost: true,
            client: "a non-confidential client with \(redirect)"
        ),
        Preset(
            name: "forgejo",
            source: "https://forgejo.org/docs/latest/user/oauth2-provider/",
            issuerForm: "https://HOST",
            scopes: ["openid"],
            isForIssuersHost: true,
            client: "a non-confidential client with \(redirect)"
        ),
        Preset(
            name: "zitadel",
            source: "https://zitadel.com/docs/apis/openidoauth/endpoints",
            issuerForm: "https://INSTANCE.zitadel.cloud",
            redirectPort: registeredPort,
            client: "a native application with \(registeredRedirect)"
        ),
    ]
}
