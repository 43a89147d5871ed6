// SPDX-License-Identifier: MIT

import Text

extension IssuerState {
    static let assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    /// The maximum time from now to `exp`, in seconds, as at Google.
    private static let maximumAssertion: Int64 = 3_600

    /// Answers a request with an assertion (RFC 7523 §3).
    ///
    /// The assertion must be signed by a trusted signer for this issuer, must be valid, and must not have
    /// been used before. `client` is `nil` if the request names none. In that case the assertion identifies
    /// the client (RFC 7523 §2.1).
    mutating func acceptAssertion(
        _ form: FormFields,
        client: RegisteredClient?,
        key: String?
    ) throws -> IssuerResponse {
        let claims = try verified(form["assertion"] ?? "")
        guard claims["client_id"] == nil || claims["client_id"]?.string == client?.id else {
            throw IssuerState.refusal("the assertion is another client's")
        }
        let name = claims["iss"]?.string ?? ""
        // Checked last, so that a rejected assertion can be corrected and sent again.
        guard let once = claims["jti"]?.string, grants.assertions.insert("\(name) \(once)").inserted else {
            throw IssuerState.refusal("jti is missing or was seen before")
        }
        let authorization = GrantLedger.Authorization(
            client: client?.id ?? name,
            user: claims["sub"]?.string,
            scope: try grantable(form["scope"] ?? claims["scope"]?.string),
            audience: form["resource"] ?? form["audience"],
            keyThumbprint: key,
            family: grants.newFamily()
        )
        return try tokens(authorization, refreshToken: nil, withIDToken: false)
    }

    /// Returns the claims of a valid assertion by a trusted signer for this issuer.
    private func verified(_ text: String) throws(OAuthErrorResponse) -> JSONObject {
        guard let token = CompactToken(text) else {
            throw IssuerState.refusal("there is no signed assertion")
        }
        let claims = token.claims
        guard let name = claims["iss"]?.string,
            let signer = registry.signers.first(where: { $0.name == name })
        else { throw IssuerState.refusal("nobody trusts this iss") }
        guard signer.type == nil || token.header["typ"]?.string == signer.type else {
            throw IssuerState.refusal("the typ of the assertion is not \(signer.type ?? "")")
        }
        guard signer.keys.contains(where: { PublishedKey($0)?.isSigner(of: token) == true }) else {
            throw IssuerState.refusal("the key that signed the assertion is not listed")
        }
        guard signer.isFor(claims["aud"], [issuer, issuer + "/token"]) else {
            throw IssuerState.refusal("the assertion is for somebody else")
        }
        let now = WallClock.seconds
        guard let end = claims["exp"]?.integer, end > now, end <= now + IssuerState.maximumAssertion else {
            throw IssuerState.refusal("exp is over or too far away")
        }
        guard claims["iat"]?.integer ?? now <= now + 60, claims["nbf"]?.integer ?? now <= now + 60 else {
            throw IssuerState.refusal("the assertion is not good yet")
        }
        guard claims["sub"]?.string != nil else { throw IssuerState.refusal("sub is missing") }
        return claims
    }

    private static func refusal(_ description: String) -> OAuthErrorResponse {
        OAuthErrorResponse(code: "invalid_grant", description: description)
    }
}

extension TrustedSigner {
    /// Returns whether `aud` names one of the signer's audiences, or one of `usual` if the signer has none.
    fileprivate func isFor(_ audience: JSONValue?, _ usual: [String]) -> Bool {
        let wanted = audiences.isEmpty ? usual : audiences
        let named = audience?.string.map { [$0] } ?? audience?.array?.compactMap(\.string) ?? []
        return named.contains(where: wanted.contains)
    }
}
