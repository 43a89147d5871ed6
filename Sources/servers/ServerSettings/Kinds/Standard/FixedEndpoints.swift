// SPDX-License-Identifier: MIT

/// The endpoints of a server without metadata.
package struct FixedEndpoints: Hashable, Sendable {
    /// The issuer, compared with the `iss` of authorization responses if it is known (RFC 9207 §2.4).
    package var issuer: String?
    package var token: String
    package var authorization: String?
    package var deviceAuthorization: String?
    package var revocation: String?
    package var endSession: String?
    /// The URL of the key set that verifies ID tokens, or `nil` to rely on TLS (OIDC Core §3.1.3.7 (6)).
    package var keySet: String?

    package init(
        token: String,
        authorization: String? = nil,
        deviceAuthorization: String? = nil,
        revocation: String? = nil,
        endSession: String? = nil,
        keySet: String? = nil,
        issuer: String? = nil
    ) {
        self.token = token
        self.authorization = authorization
        self.deviceAuthorization = deviceAuthorization
        self.revocation = revocation
        self.endSession = endSession
        self.keySet = keySet
        self.issuer = issuer
    }
}

extension FixedEndpoints: ServerKindSettings {
    package var identity: AuthorizationServerIdentity {
        AuthorizationServerIdentity(address: token, issuer: issuer)
    }

    package var endings: [String] { [revocation, endSession].compactMap(\.self) }
}
