// SPDX-License-Identifier: MIT

import Text

/// Somebody whose signature stands for a client in place of a secret (RFC 7523 §2.2): whoever runs its jobs.
package struct ClientVoucher: Sendable {
    /// What signs.
    package var key: SigningKey
    /// `iss` of the assertions.
    package var issuer: String
    /// `sub` of those that speak for the client.
    package var subject: String

    package init(key: SigningKey, issuer: String, subject: String) {
        self.key = key
        self.issuer = issuer
        self.subject = subject
    }

    /// The claims of an assertion that speaks for the client at `audience` now, in seconds since 1970.
    func claims(of assertion: String, for audience: String, now: Int64) -> JSONObject? {
        guard let claims = key.claims(of: assertion), claims["iss"]?.string == issuer,
            claims["sub"]?.string == subject, claims["aud"]?.string == audience,
            let end = claims["exp"]?.integer, end > now
        else { return nil }
        return claims
    }
}

extension IssuerState {
    /// `client_assertion_type` (RFC 7523 §2.2).
    private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    /// The client that sent `request` and has proven it.
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
