// SPDX-License-Identifier: MIT

import Text

extension IssuerState {
    static let assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    /// Seconds: how far off `exp` may be, as Google has it.
    private static let longestAssertion: Int64 = 3_600

    /// The grant of an assertion (RFC 7523 §3): signed by somebody who is trusted, for nobody but this issuer, not over
    /// yet, and never seen before.
    ///
    /// `client` is `nil` where the request names none: the assertion says who asks (RFC 7523 §2.1).
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
        // At last, so that an assertion that was refused may be corrected and shown again.
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

    /// The claims of an assertion that is signed by somebody trusted, for this issuer, at this time.
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
        guard let end = claims["exp"]?.integer, end > now, end <= now + IssuerState.longestAssertion else {
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
    /// Whether an assertion with this `aud` is meant for this signer's audiences, else for one of `usual`.
    fileprivate func isFor(_ audience: JSONValue?, _ usual: [String]) -> Bool {
        let wanted = audiences.isEmpty ? usual : audiences
        let named = audience?.string.map { [$0] } ?? audience?.array?.compactMap(\.string) ?? []
        return named.contains(where: wanted.contains)
    }
}
