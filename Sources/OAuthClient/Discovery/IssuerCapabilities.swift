// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// What an issuer says it offers, in words of our own: no text of the server is in it but its name.
package struct IssuerCapabilities: Equatable, Sendable {
    /// A way to prove the client's identity, spelled as in the configuration.
    package enum Authentication: String, CaseIterable, Sendable {
        case none
        case basic
        case post
        case clientSecretJWT = "client_secret_jwt"
        case privateKeyJWT = "private_key_jwt"
        case tls
    }

    /// Something else a client may want to know of.
    package enum Feature: String, CaseIterable, Sendable {
        /// RFC 7636 with SHA-256.
        case pkce
        /// RFC 9126.
        case pushedRequests = "pushed_requests"
        /// RFC 9449.
        case dpop
        /// RFC 7009.
        case revocation
        /// RFC 7591.
        case registration
        /// RFC 8693.
        case tokenExchange = "token_exchange"
        /// RFC 7523.
        case jwtBearer = "jwt_bearer"
    }

    /// Scopes that mean the same everywhere (OpenID Connect Core §5.4, §11).
    package enum Scope: String, CaseIterable, Sendable {
        case openid
        case offlineAccess = "offline_access"
        case email
        case profile
    }

    /// Ways to log in.
    package var flows: [LoginFlow]
    /// `nil`: not said.
    package var authentication: [Authentication]?
    /// `nil`: not said.
    package var scopes: [Scope]?
    /// All that the server lists, in its words, checked for what they are; `nil`: not said, or too many.
    package var allScopes: [String]?
    package var features: [Feature]
    /// The issuer's name as its document spells it, printable ASCII without blanks.
    package var issuer: String?
    /// What of the document is not used, a clause each.
    package var remarks: [String]
}

extension IssuerCapabilities {
    init(_ metadata: ServerMetadata) {
        issuer = metadata.issuer
        remarks = metadata.remarks
        flows = metadata.flows
        authentication = metadata.authentication
        scopes = metadata.scopes.map { known in
            Scope.allCases.filter { known.contains($0.rawValue.bytewise) }
        }
        allScopes = metadata.scopes.flatMap { NamedScopes.checked($0.map(String.init)) }
        features = metadata.features
    }
}

extension ServerMetadata {
    /// Whether a grant is offered; `standard`: where nothing is said (RFC 8414 §2).
    private func grants(_ type: ByteText, standard: Bool = false) -> Bool {
        grantTypes?.contains(type) ?? standard
    }

    /// The flows of which nothing is missing.
    fileprivate var flows: [LoginFlow] {
        let answersCodes = responseTypes?.contains("code") ?? true
        let flows: [(LoginFlow, Bool)] = [
            (.browser, authorization != nil && answersCodes && grants("authorization_code", standard: true)),
            (.device, deviceAuthorization != nil), (.password, grants("password")),
            (.clientCredentials, grants("client_credentials")),
        ]
        return flows.filter(\.1).map(\.0)
    }

    /// By default basic alone (RFC 8414 §2), which most servers that say nothing do not mean.
    fileprivate var authentication: [IssuerCapabilities.Authentication]? {
        guard let authenticationMethods else { return nil }
        let words: [(IssuerCapabilities.Authentication, [ByteText])] = [
            (.none, ["none"]), (.basic, ["client_secret_basic"]), (.post, ["client_secret_post"]),
            (.clientSecretJWT, ["client_secret_jwt"]), (.privateKeyJWT, ["private_key_jwt"]),
            (.tls, ["tls_client_auth", "self_signed_tls_client_auth"]),
        ]
        return words.filter { $0.1.contains { authenticationMethods.contains($0) } }.map(\.0)
    }

    fileprivate var features: [IssuerCapabilities.Feature] {
        let features: [(IssuerCapabilities.Feature, Bool)] = [
            (.pkce, challengeMethods?.contains("S256") ?? false),
            (.pushedRequests, pushedAuthorization != nil), (.dpop, proofAlgorithms?.isEmpty == false),
            (.revocation, revocation != nil), (.registration, registration != nil),
            (.tokenExchange, grants("urn:ietf:params:oauth:grant-type:token-exchange")),
            (.jwtBearer, grants(AssertionGrant.grantType.bytewise)),
        ]
        return features.filter(\.1).map(\.0)
    }
}
