// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The capabilities that an issuer publishes.
///
/// The only texts of the server are its name and scopes.
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

    /// Another feature that is relevant to clients.
    package enum Feature: String, CaseIterable, Sendable {
        /// PKCE with SHA-256 (RFC 7636).
        case pkce
        /// Pushed authorization requests (RFC 9126).
        case pushedRequests = "pushed_requests"
        /// Proofs of possession (RFC 9449).
        case dpop
        /// Token revocation (RFC 7009).
        case revocation
        /// Client registration (RFC 7591).
        case registration
        /// Token exchange (RFC 8693).
        case tokenExchange = "token_exchange"
        /// Assertions as grants (RFC 7523).
        case jwtBearer = "jwt_bearer"
    }

    /// The scopes with a standard meaning (OpenID Connect Core §5.4, §11).
    package enum StandardScope: String, CaseIterable, Sendable {
        case openid
        case offlineAccess = "offline_access"
        case email
        case profile
    }

    /// The ways to log in.
    package var flows: [LoginFlow]
    /// The accepted ways to prove the client's identity, or `nil` if not published.
    package var authentication: [Authentication]?
    /// The standard scopes, or `nil` if no scopes are published.
    package var scopes: [StandardScope]?
    /// All scopes that the server lists, after a check of their syntax, or `nil` if not published or too
    /// many.
    package var allScopes: [String]?
    package var features: [Feature]
    /// The issuer's name as in its document, in printable ASCII without blanks.
    package var issuer: String?
    /// The parts of the document that are not used, as one clause each.
    package var remarks: [String]
}

extension IssuerCapabilities {
    init(_ metadata: ServerMetadata) {
        issuer = metadata.issuer
        remarks = metadata.remarks
        flows = metadata.flows
        authentication = metadata.authentication
        scopes = metadata.scopes.map { known in
            StandardScope.allCases.filter { known.contains($0.rawValue.bytewise) }
        }
        allScopes = metadata.scopes.flatMap { ScopeValidator.checked($0.map(String.init)) }
        features = metadata.features
    }
}

extension ServerMetadata {
    /// Returns whether a grant is offered.
    ///
    /// `standard` applies if the server publishes no grants (RFC 8414 §2).
    private func grants(_ type: ByteText, standard: Bool = false) -> Bool {
        grantTypes?.contains(type) ?? standard
    }

    /// The flows with all necessary endpoints.
    fileprivate var flows: [LoginFlow] {
        let answersCodes = responseTypes?.contains("code") ?? true
        let flows: [(LoginFlow, Bool)] = [
            (.browser, authorization != nil && answersCodes && grants("authorization_code", standard: true)),
            (.device, deviceAuthorization != nil), (.password, grants("password")),
            (.clientCredentials, grants("client_credentials")),
        ]
        return flows.filter(\.1).map(\.0)
    }

    /// The published ways to prove the client's identity, or `nil` if there are none.
    ///
    /// The standard's default is only Basic (RFC 8414 §2), but most servers that publish nothing do not mean
    /// it.
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
