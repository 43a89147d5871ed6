// SPDX-License-Identifier: MIT

/// What the configuration says about a session at a protected resource (RFC 9728).
package struct ProtectedResource: Hashable, Sendable {
    /// Its address, an https URL.
    package var address: String
    /// The authorization server to take, if the resource names it; `nil`: the first that it names.
    package var issuer: String?
    /// Where the metadata of ``issuer`` are; `nil`: where its name leads.
    package var metadata: String?

    package init(address: String, issuer: String? = nil, metadata: String? = nil) {
        self.address = address
        self.issuer = issuer
        self.metadata = metadata
    }

    /// Host and port, as an entry of `hosts`: where its tokens go.
    package var host: String? { (try? EndpointURL(address))?.hostAndPort }
}
