// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// One `[session.NAME]`.
package struct ConfiguredSession: Equatable, Sendable {
    package var name: SessionName
    package var server: ServerProfile.Kind
    /// The endpoints that replace those of the metadata, for kind `oidc`.
    package var endpoints: EndpointOverrides
    /// The issuer as written; for `oauth2` it is only displayed.
    package var issuer: String?
    package var client: ConfiguredClient
    package var scopes: [String]
    package var flow: LoginFlow
    package var authorization: AuthorizationRequestOptions
    package var audience: String?
    package var resources: [String]
    /// The sources of its tokens, if it has no login.
    package var sources: ConfiguredSources
    package var trust: ServerTrust
    /// The `user_agent` of this or of all sessions, or `nil` for the program's name and version.
    package var userAgent: String?
    /// The requirements for the server's token responses.
    package var responses: TokenResponseSettings
    package var policy: SessionPolicy
    /// The servers for which its tokens are meant; credential helpers find the session by them.
    package var hosts: [String]
    var reauthentication: [ReauthenticationStep]
    package var reauthenticationCommand: [String]
    /// The peers that may see the session (`allow`); empty allows all.
    package var rules: [AllowRule]
    /// The age of its provider's facts, or `nil` if it names no provider, or one without dates.
    package var providerAge: ProviderAge?
    /// The keys of its table, with those of its provider.
    var written: TableValueHashes
}

/// The requirements of a session for the token responses of a standard server.
package struct TokenResponseSettings: Equatable, Sendable {
    /// Whether tokens are bound to a key (`dpop`).
    package var bindsTokens = false
    /// Whether a login requires an ID token (`id_token`).
    package var requiresIDToken = false
    package var dialect = ServerDialect()

    init() {}

    init(reading table: inout TableReader) {
        bindsTokens = table.boolean("dpop") ?? false
        requiresIDToken = table.word("id_token", IDTokenRequirement.self) == .required
        dialect = table.dialect()
    }
}

/// The value of `id_token`: whether a login requires an ID token.
enum IDTokenRequirement: String, CaseIterable {
    case optional
    case required
}

/// A step of `reauth`; steps are tried in order.
package enum ReauthenticationStep: String, CaseIterable, Sendable {
    /// Run `reauth_command`, which prints the password or assertion.
    case command
    case clientCredentials = "client_credentials"
    /// Prompt the user, through `login_required`.
    case prompt
}
