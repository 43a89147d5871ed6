// SPDX-License-Identifier: MIT

/// The configuration of a session for a protected resource (RFC 9728).
package struct ProtectedResource: Hashable, Sendable {
    /// The URL of the resource, with `https`.
    package var address: String
    /// The issuer to use if the resource names it, or `nil` for the first one that the resource names.
    package var issuer: String?
    /// The address of the metadata of ``issuer``, or `nil` for the one that the issuer's name leads to.
    package var metadata: String?

    package init(address: String, issuer: String? = nil, metadata: String? = nil) {
        self.address = address
        self.issuer = issuer
        self.metadata = metadata
    }

    /// The host and port, as an entry of `hosts`, that the tokens are sent to.
    package var host: String? { (try? EndpointURL(address))?.hostAndPort }
}

extension ProtectedResource: ServerKindSettings {
    package var identity: AuthorizationServerIdentity {
        AuthorizationServerIdentity(address: address, pool: metadata ?? issuer, issuer: issuer)
    }

    package var problems: [ServerProfileError] {
        OpenIDIssuer.queryProblems("resource", of: address)
            + (issuer.map { OpenIDIssuer(name: $0, metadata: metadata).problems } ?? [])
    }
}
