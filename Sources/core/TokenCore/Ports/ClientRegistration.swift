// SPDX-License-Identifier: MIT

/// An OAuth client that an authorization server or a user has registered.
///
/// The server registered it for the agent (RFC 7591 §3.2.1), or the user registered it there and gave the
/// agent its secret to keep.
package struct ClientRegistration: Equatable, Sendable {
    /// The only purpose that the client is used for, at one issuer.
    package struct LookupKey: Hashable, Sendable {
        package var issuer: String
        /// The redirect URI, without a port if any port is accepted.
        package var redirectURI: String
        /// The configured `client_authentication`.
        ///
        /// For IAM Identity Center the scope, which is fixed with the client.
        package var authentication: String

        package init(issuer: String, redirectURI: String, authentication: String) {
            self.issuer = issuer
            self.redirectURI = redirectURI
            self.authentication = authentication
        }
    }

    package var purpose: LookupKey
    package var clientID: String
    /// Every redirect URI that the server has for the client.
    package var redirectURIs: [String]
    /// The `token_endpoint_auth_method`: `none`, `client_secret_basic` or `client_secret_post`.
    ///
    /// It is ``given`` for a user's client, for which the configuration sets the method.
    package var method: String
    package var secret: SecretID?
    /// The expiry of the secret, or `nil` if it does not expire.
    package var secretExpiresAt: WallTime?
    /// The URL that manages the registration (RFC 7592).
    package var managementURI: String?
    package var managementToken: SecretID?

    package init(purpose: LookupKey, clientID: String, redirectURIs: [String], method: String) {
        self.purpose = purpose
        self.clientID = clientID
        self.redirectURIs = redirectURIs
        self.method = method
    }

    /// The ``method`` of a client that the user has registered.
    package static let given = "given"

    /// Every secret that the registration names.
    package var secrets: [SecretID] { [secret, managementToken].compactMap(\.self) }

    package func isClient(_ client: String, at issuer: String) -> Bool {
        clientID.utf8.elementsEqual(client.utf8) && purpose.issuer.utf8.elementsEqual(issuer.utf8)
    }
}

/// The port to the sealed store of registered clients, which live as long as the store.
package protocol RegistrationStoring: Sendable {
    /// Returns all registrations, oldest first, or none while the store is locked.
    func registrations() async -> [ClientRegistration]

    /// Makes a registration durable. On failure its secrets are erased.
    ///
    /// - Throws: ``StorageFailure`` if the registration cannot be stored.
    func keep(_ registration: ClientRegistration) async throws(StorageFailure)

    /// Removes a registration, and erases its secrets.
    func drop(_ registration: ClientRegistration) async throws(StorageFailure)
}
