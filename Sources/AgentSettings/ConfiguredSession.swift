// SPDX-License-Identifier: MIT

import OAuthClient
import TokenCore

/// One `[session.NAME]`.
package struct ConfiguredSession: Equatable, Sendable {
    package var name: SessionName
    package var server: ServerSettings
    /// As written; for `oauth2` it is only shown.
    package var issuer: String?
    package var clientID: String
    package var clientSecret: ConfiguredSecret
    package var authentication: ClientAuthenticationMethod
    package var scopes: [String]
    package var flow: LoginFlow
    package var redirectPort: Int
    package var audience: String?
    package var resources: [String]
    package var trust: ServerTrust
    package var policy: SessionPolicy
    package var reauthentication: [ReauthenticationStep]
    package var reauthenticationCommand: [String]
    package var allowedPeers: [PeerRule]
}

/// `kind` and the keys that belong to it.
package enum ServerSettings: Equatable, Sendable {
    case oidc(issuer: String)
    case oauth2(FixedEndpoints)
    case json(JSONServerSettings)
    case cognito(CognitoSettings)

    /// The word in the configuration.
    package enum Kind: String, CaseIterable, Sendable {
        case oidc
        case oauth2
        case json
        case cognito
    }

    package var kind: Kind {
        switch self {
        case .oidc: .oidc
        case .oauth2: .oauth2
        case .json: .json
        case .cognito: .cognito
        }
    }
}

/// `kind = "json"`: refresh endpoints as mobile back ends have them.
package struct JSONServerSettings: Equatable, Sendable {
    package enum Preset: String, CaseIterable, Sendable {
        case signaling
        case ecall
    }

    /// The members of requests and answers that may be renamed by `fields`.
    package enum Field: String, CaseIterable, Sendable {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
        case expiresIn = "expires_in"
        case refreshExpiresIn = "refresh_expires_in"
    }

    package var loginURL: String?
    package var refreshURL: String
    package var logoutURL: String?
    package var preset: Preset?
    package var fields: [Field: String]
    /// Extra members of the answer to keep; `nil`: the preset's.
    package var keptMembers: [String]?
    /// Error codes of a resource server that call for a refresh; `nil`: the preset's.
    package var refreshCodes: [String]?
    /// Error codes that end the session; `nil`: the preset's.
    package var logoutCodes: [String]?
}

/// `kind = "cognito"`: AWS Cognito user pools.
package struct CognitoSettings: Equatable, Sendable {
    package var region: String
    package var userPoolID: String
    /// Instead of `https://cognito-idp.REGION.amazonaws.com/`.
    package var endpoint: String?
}

/// Where the client secret is written, or how to get it.
package enum ConfiguredSecret: Equatable, Sendable {
    case none
    case literal(String)
    case file(String)
    case command([String])
}

/// `reauth`: what to try before a person is asked, in order.
package enum ReauthenticationStep: String, CaseIterable, Sendable {
    /// `reauth_command` prints the password or assertion.
    case command
    case clientCredentials = "client_credentials"
    /// Ask the person, through `login_required`.
    case prompt
}

/// One element of `allow`: a peer that may see the session.
package struct PeerRule: Equatable, Sendable {
    /// Absolute path of its executable.
    package var executable: String?
    /// The systemd unit it runs in.
    package var unit: String?
    /// A person confirms each use.
    package var asksForConfirmation: Bool
}
