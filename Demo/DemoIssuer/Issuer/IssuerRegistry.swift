// SPDX-License-Identifier: MIT

import Text

/// A client registration.
package struct RegisteredClient: Equatable, Sendable {
    package var id: String
    /// The client secret, or `nil` for a public client.
    package var secret: String?

    package init(id: String, secret: String? = nil) {
        self.id = id
        self.secret = secret
    }
}

/// A user who can log in.
package struct RegisteredUser: Equatable, Sendable {
    package var name: String
    package var password: String

    package init(name: String, password: String) {
        self.name = name
        self.password = password
    }
}

/// A signer whose assertions replace a login (RFC 7523 §3).
package struct TrustedSigner: Equatable, Sendable {
    /// The `typ` of identity assertions (draft-ietf-oauth-identity-assertion-authz-grant §3.1).
    package static let identityAssertion = "oauth-id-jag+jwt"

    /// The `iss` of the assertions.
    package var name: String
    /// The signer's public keys, as members of a key set (RFC 7517 §5).
    package var keys: [JSONValue]
    /// The accepted values of `aud`.
    ///
    /// If empty, the issuer and its token endpoint are accepted.
    package var audiences: [String]
    /// The required `typ` of the assertions, or `nil` for any.
    package var type: String?

    package init(_ name: String, keys: [JSONValue], audiences: [String] = [], type: String? = nil) {
        self.name = name
        self.keys = keys
        self.audiences = audiences
        self.type = type
    }
}

/// The clients, users and signers that can request tokens.
package struct IssuerRegistry: Sendable {
    package var clients = [
        RegisteredClient(id: "demo-public"),
        RegisteredClient(id: "demo-confidential", secret: "demo-secret-7f3a"),
        RegisteredClient(id: "demo-other"),
    ]
    package var users = [
        RegisteredUser(name: "alice", password: "alice-password"),
        RegisteredUser(name: "bob", password: "bob-password"),
    ]
    package var signers: [TrustedSigner] = []

    /// The signers for clients without a secret, by client ID.
    package var vouchers: [String: ClientVoucher] = [:]

    package init() {}

    func client(_ id: String) -> RegisteredClient? {
        clients.first { $0.id == id }
    }

    func user(_ name: String) -> RegisteredUser? {
        users.first { $0.name == name }
    }

    /// Returns whether a request names no client at all.
    func namesNobody(_ request: IssuerRequest) -> Bool {
        let (id, secret) = IssuerRegistry.credentials(request)
        return id == nil && secret == nil && request.form["client_assertion"] == nil
    }

    /// Returns the client authenticated by `client_secret_basic`, `client_secret_post` or `none` (RFC 6749
    /// §2.3).
    func authenticate(_ request: IssuerRequest) -> RegisteredClient? {
        let (id, secret) = IssuerRegistry.credentials(request)
        guard let id, let client = client(id), client.secret == secret, vouchers[id] == nil else {
            return nil
        }
        return client
    }

    private static func credentials(_ request: IssuerRequest) -> (id: String?, secret: String?) {
        guard let header = request.header("authorization"), header.hasPrefix("Basic ") else {
            return (request.form["client_id"], request.form["client_secret"])
        }
        let decoded = Base64.decoded(header.dropFirst("Basic ".count)) ?? []
        let halves = decoded.split(
            separator: UInt8(ascii: ":"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard halves.count == 2 else { return (nil, nil) }
        return (
            PercentCoding.decoded(halves[0], plusIsBlank: true),
            PercentCoding.decoded(halves[1], plusIsBlank: true)
        )
    }
}
