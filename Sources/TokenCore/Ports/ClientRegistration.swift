// SPDX-License-Identifier: MIT

/// A client that an authorization server has registered for us (RFC 7591 §3.2.1), or one that a person has registered
/// there and whose secret they gave us to keep.
package struct ClientRegistration: Equatable, Sendable {
    /// What it is for; it is used for nothing else, and at no other issuer.
    package struct Purpose: Hashable, Sendable {
        package var issuer: String
        /// The redirect address; without a port where any will do.
        package var redirectURI: String
        /// `client_authentication` of the configuration; for IAM Identity Center the scope, which is fixed with the client.
        package var authentication: String

        package init(issuer: String, redirectURI: String, authentication: String) {
            self.issuer = issuer
            self.redirectURI = redirectURI
            self.authentication = authentication
        }
    }

    package var purpose: Purpose
    package var clientID: String
    /// Every redirect address that the server knows of it.
    package var redirectURIs: [String]
    /// `token_endpoint_auth_method`: `none`, `client_secret_basic` or `client_secret_post`; ``given`` of a person's
    /// client, for which the configuration says it.
    package var method: String
    package var secret: SecretID?
    /// When the server takes the secret no longer; `nil`: it has no end.
    package var secretExpiresAt: WallTime?
    /// Where the registration is managed, and with what (RFC 7592).
    package var managementURI: String?
    package var managementToken: SecretID?

    package init(purpose: Purpose, clientID: String, redirectURIs: [String], method: String) {
        self.purpose = purpose
        self.clientID = clientID
        self.redirectURIs = redirectURIs
        self.method = method
    }

    /// The ``method`` of a client that a person has registered.
    package static let given = "given"

    /// Every secret it names.
    package var secrets: [SecretID] { [secret, managementToken].compactMap(\.self) }

    package func isClient(_ client: String, at issuer: String) -> Bool {
        clientID.utf8.elementsEqual(client.utf8) && purpose.issuer.utf8.elementsEqual(issuer.utf8)
    }
}

/// Where registered clients are kept, sealed, for as long as the store is.
package protocol RegistrationStoring: Sendable {
    /// All that are kept, the oldest first; none while the store is locked.
    func registrations() async -> [ClientRegistration]

    /// Makes one more durable; its secrets are erased if that cannot be done.
    func keep(_ registration: ClientRegistration) async throws(StorageFailure)

    /// Removes one, and erases its secrets.
    func drop(_ registration: ClientRegistration) async throws(StorageFailure)
}
