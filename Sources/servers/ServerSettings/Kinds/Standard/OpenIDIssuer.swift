// SPDX-License-Identifier: MIT

import Text

/// An issuer that publishes metadata (OpenID Connect Discovery, RFC 8414).
package struct OpenIDIssuer: ServerKindSettings {
    /// The issuer identifier.
    package var name: String
    /// The address of the metadata, or `nil` for the one that the name leads to.
    package var metadata: String?

    // A server's data belong to the address of its metadata: any document may name any issuer.
    package var identity: AuthorizationServerIdentity {
        AuthorizationServerIdentity(
            address: metadata ?? name,
            pool: metadata == nil ? nil : name,
            issuer: name
        )
    }

    package var problems: [ServerProfileError] {
        if IssuerNameRules.isTemplate(name) {
            guard metadata != nil else {
                return [ServerProfileError("issuer", "a template with {tenantid} requires metadata_url")]
            }
            guard IssuerNameRules.isTemplateOfTenants(name) else {
                return [ServerProfileError("issuer", "must not contain {…} besides one {tenantid}")]
            }
        }
        // An issuer identifier has no query (OIDC Discovery §3, RFC 8414 §2).
        guard metadata != nil else { return OpenIDIssuer.queryProblems("issuer", of: name) }
        guard name.utf8.count > EndpointURL.longest || !name.utf8.allSatisfy(\.isVisibleASCII) else {
            return []
        }
        return [ServerProfileError("issuer", "must be printable ASCII without blanks")]
    }

    /// Returns the error of an address with a query, or nothing.
    static func queryProblems(_ key: String, of address: String) -> [ServerProfileError] {
        guard address.utf8.contains(UInt8(ascii: "?")) else { return [] }
        return [ServerProfileError(key, "must not contain a query (?)")]
    }
}
