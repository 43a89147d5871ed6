// SPDX-License-Identifier: MIT

import Text

extension IssuerState {
    /// Answers a userinfo request (OIDC Core §5.3).
    mutating func userinfo(_ request: IssuerRequest) throws -> IssuerResponse {
        let authorization = try presentedAuthorization(request)
        let name = authorization.user ?? authorization.client
        return .json(["sub": .string(name), "email": .string("\(name)@example.com")])
    }

    /// Answers a request to a protected resource with the user and scope of a valid access token.
    mutating func resource(_ request: IssuerRequest) throws -> IssuerResponse {
        let authorization = try presentedAuthorization(request)
        return .json([
            "hello": .string(authorization.user ?? authorization.client),
            "scope": .string(authorization.scope.joined(separator: " ")),
        ])
    }

    /// Returns the rights of the request's access token.
    ///
    /// A bound token requires the scheme DPoP and a proof, and any other token the scheme Bearer, independent
    /// of the current ``IssuerSettings/dpop`` (RFC 9449 §7).
    private mutating func presentedAuthorization(
        _ request: IssuerRequest
    ) throws(OAuthErrorResponse) -> GrantLedger.Authorization {
        let isProven = request.proofBoundToken != nil
        guard let token = request.proofBoundToken ?? request.bearerToken else {
            throw refusal("Bearer", code: nil)
        }
        guard let authorization = grants.access(token, now: now)?.authorization else {
            throw refusal(isProven ? "DPoP" : "Bearer", code: "invalid_token")
        }
        guard isProven || authorization.keyThumbprint != nil else { return authorization }
        guard isProven, let thumbprint = authorization.keyThumbprint else {
            throw refusal("DPoP", code: "invalid_token")
        }
        try proveKey(thumbprint, of: token, request)
        return authorization
    }

    /// Checks that the request's proof is for `token` and made with the key that the token is bound to.
    private mutating func proveKey(
        _ thumbprint: String,
        of token: String,
        _ request: IssuerRequest
    ) throws(OAuthErrorResponse) {
        let proven: String
        do {
            proven = try proof(in: request, accessToken: token).key.thumbprint
        } catch {
            throw refusal("DPoP", code: error.code, freshNonce(after: error), because: error.rawValue)
        }
        guard proven == thumbprint else { throw refusal("DPoP", code: "invalid_token") }
    }

    /// Returns the error for a rejected token (RFC 6750 §3.1, RFC 9449 §7.1).
    ///
    /// Expired, revoked and unknown tokens look the same.
    private func refusal(
        _ scheme: String,
        code: String?,
        _ headers: [IssuerResponse.Header] = [],
        because reason: String? = nil
    ) -> OAuthErrorResponse {
        var parameters = scheme == "Bearer" ? [#"realm="demo""#] : []
        if let code { parameters.append(#"error="\#(code)""#) }
        let challenge = IssuerResponse.Header(
            name: "WWW-Authenticate",
            value: "\(scheme) \(parameters.joined(separator: ", "))"
        )
        return OAuthErrorResponse(
            code: code ?? "invalid_token",
            status: 401,
            description: reason,
            headers: headers + [challenge]
        )
    }
}
