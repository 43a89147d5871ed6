// SPDX-License-Identifier: MIT

import OAuthClient
import TokenCore

/// One `[session.NAME]`.
package struct ConfiguredSession: Equatable, Sendable {
    package var name: SessionName
    package var server: ServerProfile.Kind
    /// The endpoints that replace those of the metadata, for kind `oidc`.
    package var endpoints: ConfiguredEndpoints
    /// As written; for `oauth2` it is only shown.
    package var issuer: String?
    package var client: ConfiguredClient
    package var scopes: [String]
    package var flow: LoginFlow
    package var authorization: AuthorizationRequest
    package var audience: String?
    package var resources: [String]
    /// What its tokens are made from, if it has no login of its own.
    package var sources: ConfiguredSources
    package var trust: ServerTrust
    /// `user_agent`, its own or that of all sessions; `nil`: the program's name and version.
    package var userAgent: String?
    /// What is expected of the server's token responses.
    package var responses: TokenResponseSettings
    package var policy: SessionPolicy
    /// The servers its tokens are for; credential helpers find the session by them.
    package var hosts: [String]
    package var reauthentication: [ReauthenticationStep]
    package var reauthenticationCommand: [String]
    /// `allow`: peers that may see the session; empty: all.
    package var rules: [AllowRule]
}

/// What a session expects of the token responses of a standard server.
package struct TokenResponseSettings: Equatable, Sendable {
    /// `dpop`: tokens are bound to a key.
    package var bindsTokens = false
    /// `id_token`: a login without one is not accepted.
    package var requiresIDToken = false
    /// `expires_in_unit`.
    package var lifetimeUnit = LifetimeUnit.seconds

    init() {}

    init(reading table: inout TableReader) {
        bindsTokens = table.boolean("dpop") ?? false
        requiresIDToken = table.word("id_token", IDTokenRequirement.self) == .required
        lifetimeUnit = table.word("expires_in_unit", LifetimeUnit.self) ?? .seconds
    }
}

/// `id_token`: what a login without one is worth.
enum IDTokenRequirement: String, CaseIterable {
    case optional
    case required
}

/// `reauth`: what to try before a person is asked, in order.
package enum ReauthenticationStep: String, CaseIterable, Sendable {
    /// `reauth_command` prints the password or assertion.
    case command
    case clientCredentials = "client_credentials"
    /// Ask the person, through `login_required`.
    case prompt
}
