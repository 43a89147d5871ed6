// SPDX-License-Identifier: MIT

import Text

extension IssuerState {
    /// The userinfo endpoint (OIDC Core §5.3).
    mutating func userinfo(_ request: IssuerRequest) throws -> IssuerResponse {
        let authorization = try presentedAuthorization(request)
        let name = authorization.user ?? authorization.client
        return .json(["sub": .string(name), "email": .string("\(name)@example.com")])
    }

    /// A protected resource: any good access token gets a 200 that says whose it was.
    mutating func resource(_ request: IssuerRequest) throws -> IssuerResponse {
        let authorization = try presentedAuthorization(request)
        return .json([
            "hello": .string(authorization.user ?? authorization.client),
            "scope": .string(authorization.scope.joined(separator: " ")),
        ])
    }

    /// What the access token of a request allows.
    ///
    /// A bound token needs the scheme DPoP and a proof, any other token the scheme Bearer, whatever
    /// ``IssuerSettings/dpop`` says now (RFC 9449 §7).
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

    /// Checks that the proof of a request is for `token` and by the key that the token is bound to.
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

    /// RFC 6750 §3.1, RFC 9449 §7.1: expired, revoked and invented tokens look the same.
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
