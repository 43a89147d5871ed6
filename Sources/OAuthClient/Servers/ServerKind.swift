// SPDX-License-Identifier: MIT

import TokenCore

/// The words of `kind`, and what each says of a server.
package enum ServerKind: String, CaseIterable, Sendable {
    case oidc
    case oauth2
    case json
    case cognito

    /// Spoken to as RFC 6749 says.
    package var isStandard: Bool { self == .oidc || self == .oauth2 }

    /// Such a server registers clients.
    package var hasClients: Bool { self != .json }

    /// The ways to log in.
    package var flows: [LoginFlow] { isStandard ? LoginFlow.allCases : [.password, .import] }

    package var defaultFlow: LoginFlow { isStandard ? .browser : .password }
}

extension ServerProfile.Kind {
    /// What tells one server from another; a row for each kind.
    package struct Identity: Equatable, Sendable {
        package var kind: ServerKind
        /// The address without which a session cannot be refreshed.
        package var address: String
        /// Which of the servers at the address, where there may be several.
        package var pool: String?
        /// Who makes its ID tokens; `nil`: the configuration does not say, so they may name anyone.
        package var issuer: String?
    }

    package var identity: Identity {
        switch self {
        case .oidc(let issuer): Identity(kind: .oidc, address: issuer, issuer: issuer)
        case .oauth2(let endpoints):
            Identity(kind: .oauth2, address: endpoints.token, issuer: endpoints.issuer)
        case .json(let backEnd): Identity(kind: .json, address: backEnd.refreshURL)
        case .cognito(let pool): Identity(kind: .cognito, address: pool.url, pool: pool.userPoolID)
        }
    }
}
