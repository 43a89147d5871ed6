// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// Who the client is at its authorization server, and how it proves that.
package struct ClientIdentity: Equatable, Sendable {
    /// As registered; empty where a server knows no clients, or none of ours before a login.
    package var id: String
    package var proof: ClientProof
    /// How a server gets to know us that knows no client of ours; `nil`: it needs none, or knows ``id``.
    package var introduction: ClientRegistrationOptions?

    package init(_ id: String, proof: ClientProof = .none, introduction: ClientRegistrationOptions? = nil) {
        self.id = id
        self.proof = proof
        self.introduction = introduction
    }
}

/// How a server gets to know a client that nobody has registered there.
package struct ClientRegistrationOptions: Equatable, Sendable {
    /// The address of a document about us, which is our name where servers read such documents
    /// (draft-ietf-oauth-client-id-metadata-document).
    package var document: String?
    /// How a registered client is to show its secret (RFC 7591 §2).
    package var method: ClientSecretMethod

    package init(document: String? = nil, method: ClientSecretMethod = .automatic) {
        self.document = document
        self.method = method
    }
}

/// How the client proves who it is (RFC 6749 §2.3).
package enum ClientProof: Equatable, Sendable {
    /// A public client, which only names itself.
    case none
    /// A secret that the server knows too.
    case secret(SecretSource, ClientSecretMethod)
    /// Assertions signed with such a secret (OpenID Connect Core §9 `client_secret_jwt`).
    case secretAssertion(SecretSource, AssertionAudience)
    /// Assertions signed with a private key.
    case keyAssertion(AssertionKey, AssertionAudience)
    /// Assertions that somebody else has signed (RFC 7523 §2.2).
    case externalAssertion(AssertionSource, AssertionAudience)
    /// A certificate in the TLS handshake (RFC 8705 §2): the file that holds it, and its key.
    case certificate(String, key: SecretSource)

    package init(secret: SecretSource?, _ method: ClientSecretMethod = .automatic) {
        self = secret.map { .secret($0, method) } ?? .none
    }

    /// Whether configuration and metadata, which lists the ways of `listed`, leave open how the proof is shown, so that it
    /// is found out.
    func isOpen(listed: [ByteText]?) -> Bool {
        if case .secret(_, .automatic) = self { return listed?.contains("client_secret_post") != false }
        if case .secretAssertion(_, .endpoint) = self { return true }
        return if case .keyAssertion(_, .endpoint) = self { true } else { false }
    }

    /// Where the shared secret comes from, if there is one.
    var secret: SecretSource? {
        switch self {
        case .secret(let source, _), .secretAssertion(let source, _): source
        case .none, .keyAssertion, .externalAssertion, .certificate: nil
        }
    }
}

/// Where a secret comes from.
package enum SecretSource: Equatable, Sendable {
    case sealed(SecretID)
    /// The store keeps the secret, which a person has given to this session.
    case given(to: SessionName)
    /// A file holding the secret; one trailing line break is not part of it.
    case file(String)
    /// argv of a program that prints the secret; one trailing line break is not part of it.
    case command([String])
}

/// How the client shows its secret at the token endpoint (RFC 6749 §2.3.1).
package enum ClientSecretMethod: String, CaseIterable, Sendable {
    /// What the server's metadata lists, preferring `basic`.
    case automatic
    case basic
    case post
}

/// A private key that signs the client's assertions (OpenID Connect Core §9 `private_key_jwt`).
package struct AssertionKey: Equatable, Sendable {
    package var source: SecretSource
    /// `kid` of the assertions; `nil`: the key's own, if it is a JWK with one.
    package var identifier: String?

    package init(_ source: SecretSource, identifier: String? = nil) {
        self.source = source
        self.identifier = identifier
    }
}

/// Where a ready assertion comes from.
package enum AssertionSource: Equatable, Sendable {
    /// A file that another program renews: Kubernetes, SPIFFE.
    case file(String)
    /// argv of a program that prints it.
    case command([String])
    /// The ID token of a job of GitHub Actions.
    case gitHubActions
}

/// What an assertion names as `aud`, always one string (RFC 7523 §3, draft-ietf-oauth-rfc7523bis).
package enum AssertionAudience: Equatable, Sendable {
    /// The very address it is posted to.
    case endpoint
    /// The server's issuer, as FAPI 2 wants it.
    case issuer
    case other(String)
}
