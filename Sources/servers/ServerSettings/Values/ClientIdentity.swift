// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The client's ID at its authorization server, and its proof of identity.
package struct ClientIdentity: Equatable, Sendable {
    /// The ID as registered.
    ///
    /// Empty if the server has no clients, or none for this session before a login.
    package var id: String
    package var proof: ClientProof
    /// The certificate that is shown in the TLS handshake besides a secret, for servers that require both.
    package var certificate: HandshakeCertificate?
    /// The options to register a client, or `nil` if the server needs no client or knows ``id``.
    package var introduction: ClientRegistrationOptions?

    package init(
        _ id: String,
        proof: ClientProof = .none,
        certificate: HandshakeCertificate? = nil,
        introduction: ClientRegistrationOptions? = nil
    ) {
        self.id = id
        self.proof = proof
        self.certificate = certificate
        self.introduction = introduction
    }

    /// Whether the client shows a certificate, which it does at endpoints of their own (RFC 8705 §5).
    package var showsCertificate: Bool {
        if case .certificate = proof { true } else { certificate != nil }
    }
}

/// A certificate for the TLS handshake, and its key.
package struct HandshakeCertificate: Equatable, Sendable {
    /// The path of the certificate's file.
    package var path: String
    package var key: SecretSource

    package init(_ path: String, key: SecretSource) {
        self.path = path
        self.key = key
    }
}

/// The ways to introduce a client that nobody has registered at the server.
package struct ClientRegistrationOptions: Equatable, Sendable {
    /// The URL of a document about the client, used as the client ID where servers read such documents
    /// (draft-ietf-oauth-client-id-metadata-document).
    package var document: String?
    /// The way a registered client is to send its secret (RFC 7591 §2).
    package var method: ClientSecretMethod

    package init(document: String? = nil, method: ClientSecretMethod = .automatic) {
        self.document = document
        self.method = method
    }
}

/// The client's proof of identity (RFC 6749 §2.3).
package enum ClientProof: Equatable, Sendable {
    /// No proof: a public client, which only sends its ID.
    case none
    /// Basic credentials of the client ID and an empty password, for clients without a secret.
    case basicID
    /// A secret shared with the server.
    case secret(SecretSource, ClientSecretMethod)
    /// Assertions signed with a shared secret (OpenID Connect Core §9 `client_secret_jwt`).
    case secretAssertion(SecretSource, AssertionAudience)
    /// Assertions signed with a private key.
    case keyAssertion(AssertionKey, AssertionAudience)
    /// Assertions that were signed elsewhere (RFC 7523 §2.2).
    case externalAssertion(AssertionSource, AssertionAudience)
    /// A certificate in the TLS handshake (RFC 8705 §2): the path of its file, and its key.
    case certificate(String, key: SecretSource)

    package init(secret: SecretSource?, _ method: ClientSecretMethod = .automatic) {
        self = secret.map { .secret($0, method) } ?? .none
    }

    /// Returns whether the way to send the proof is still open and must be found out.
    ///
    /// The way is open if neither the configuration nor the methods `listed` in the metadata decide it.
    package func isOpen(listed: [ByteText]?) -> Bool {
        if case .secret(_, .automatic) = self { return listed?.contains("client_secret_post") != false }
        if case .secretAssertion(_, .endpoint) = self { return true }
        return if case .keyAssertion(_, .endpoint) = self { true } else { false }
    }

    /// The source of the shared secret, or `nil` if there is none.
    package var secret: SecretSource? {
        switch self {
        case .secret(let source, _), .secretAssertion(let source, _): source
        case .none, .basicID, .keyAssertion, .externalAssertion, .certificate: nil
        }
    }
}

/// The source of a secret.
package enum SecretSource: Equatable, Sendable {
    case sealed(SecretID)
    /// The store, which keeps the secret that the user gave to this session.
    case given(to: SessionName)
    /// A file with the secret.
    ///
    /// One trailing line break is not part of the secret.
    case file(String)
    /// The argument vector of a program that prints the secret.
    ///
    /// One trailing line break is not part of the secret.
    case command([String])

    /// Returns the command that prints the file at `path`.
    ///
    /// A sandboxed agent has it run for a file in a directory that is newer than the agent's start. The
    /// configuration of the file allows this command.
    package static func printing(_ path: String) -> [String] { ["cat", "--", path] }
}

/// The way the client sends its secret to the token endpoint (RFC 6749 §2.3.1).
package enum ClientSecretMethod: String, CaseIterable, Sendable {
    /// A method that the server's metadata lists, preferably `basic`.
    case automatic
    case basic
    case post
    /// Basic credentials of the secret as the user name, and an empty password.
    case basicSecret = "basic_secret"
}

/// A private key that signs the client's assertions (OpenID Connect Core §9 `private_key_jwt`).
package struct AssertionKey: Equatable, Sendable {
    package var source: SecretSource
    /// The `kid` of the assertions, or `nil` for the key's own if it is a JWK with one.
    package var identifier: String?
    /// The path of the key's certificate, whose thumbprint the assertions name (RFC 7515 §4.1.8), or `nil`.
    package var certificate: String?
    /// Further claims, by name; also those that replace the client ID in `iss` and `sub`.
    package var claims: [String: String]

    package init(
        _ source: SecretSource,
        identifier: String? = nil,
        certificate: String? = nil,
        claims: [String: String] = [:]
    ) {
        self.source = source
        self.identifier = identifier
        self.certificate = certificate
        self.claims = claims
    }

    /// The claims that each assertion has its own values of.
    package static let ownClaims: Set<ByteText> = ["aud", "exp", "iat", "jti", "nbf"]
}

/// The source of an assertion that is signed elsewhere.
package enum AssertionSource: Equatable, Sendable {
    /// A file that another program updates, such as Kubernetes or SPIFFE.
    case file(String)
    /// The argument vector of a program that prints the assertion.
    case command([String])
    /// The ID token of a GitHub Actions job.
    case gitHubActions
}

/// The `aud` of an assertion, always one string (RFC 7523 §3, draft-ietf-oauth-rfc7523bis).
package enum AssertionAudience: Equatable, Sendable {
    /// The URL that the assertion is sent to.
    case endpoint
    /// The server's issuer, as FAPI 2 requires.
    case issuer
    case other(String)
}
