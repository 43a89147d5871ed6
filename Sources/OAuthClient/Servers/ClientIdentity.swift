// SPDX-License-Identifier: MIT

import TokenCore

/// Who the client is at its authorization server, and how it proves that.
package struct ClientIdentity: Equatable, Sendable {
    /// As registered; empty where a server knows no clients.
    package var id: String
    package var proof: ClientProof

    package init(_ id: String, proof: ClientProof = .none) {
        self.id = id
        self.proof = proof
    }
}

/// How the client proves who it is (RFC 6749 §2.3).
package enum ClientProof: Equatable, Sendable {
    /// A public client, which only names itself.
    case none
    /// A secret that the server knows too.
    case secret(SecretSource, ClientSecretMethod)

    package init(secret: SecretSource?, _ method: ClientSecretMethod = .automatic) {
        self = secret.map { .secret($0, method) } ?? .none
    }

    /// Where the shared secret comes from, if there is one.
    var secret: SecretSource? {
        if case .secret(let source, _) = self { source } else { nil }
    }
}

/// Where a secret comes from.
package enum SecretSource: Equatable, Sendable {
    case sealed(SecretID)
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
