// SPDX-License-Identifier: MIT

import Text

/// A signer whose assertions replace a client secret (RFC 7523 §2.2), such as the service that runs the
/// client's jobs.
package struct ClientVoucher: Sendable {
    /// The key that signs the assertions.
    package var key: SigningKey
    /// The `iss` of the assertions.
    package var issuer: String
    /// The `sub` of assertions for the client.
    package var subject: String

    package init(key: SigningKey, issuer: String, subject: String) {
        self.key = key
        self.issuer = issuer
        self.subject = subject
    }

    /// Returns the claims of a valid assertion for the client at `audience`, or `nil` for an invalid one.
    ///
    /// `now` is in seconds since 1970.
    func claims(of assertion: String, for audience: String, now: Int64) -> JSONObject? {
        guard let claims = key.claims(of: assertion), claims["iss"]?.string == issuer,
            claims["sub"]?.string == subject, claims["aud"]?.string == audience,
            let end = claims["exp"]?.integer, end > now
        else { return nil }
        return claims
    }
}

extension IssuerState {
    /// The `client_assertion_type` (RFC 7523 §2.2).
    private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    /// Returns the authenticated client of `request`, or `nil`.
    mutating func authenticated(_ request: IssuerRequest) -> RegisteredClient? {
        guard let assertion = request.form["client_assertion"] else { return registry.authenticate(request) }
        guard request.form["client_assertion_type"] == IssuerState.assertionType,
            let client = request.form["client_id"].flatMap(registry.client),
            let claims = registry.vouchers[client.id]?.claims(
                of: assertion,
                for: issuer + request.path,
                now: WallClock.seconds
            ),
            let name = claims["jti"]?.string, usedAssertions.insert(name).inserted
        else { return nil }
        return client
    }
}
