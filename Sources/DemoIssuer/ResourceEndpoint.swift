// SPDX-License-Identifier: MIT

import StrictJSON

extension IssuerState {
    /// The userinfo endpoint (OIDC Core §5.3).
    func userinfo(_ request: IssuerRequest) -> IssuerReply {
        guard let entry = request.bearerToken.flatMap({ grants.access($0, now: now) }) else {
            return refusal(request)
        }
        let name = entry.authorization.user ?? entry.authorization.client
        return .json(["sub": .string(name), "email": .string("\(name)@example.com")])
    }

    /// A protected resource: any good access token gets a 200 that says whose it was.
    func resource(_ request: IssuerRequest) -> IssuerReply {
        guard let entry = request.bearerToken.flatMap({ grants.access($0, now: now) }) else {
            return refusal(request)
        }
        let name = entry.authorization.user ?? entry.authorization.client
        return .json([
            "hello": .string(name),
            "scope": .string(entry.authorization.scope.joined(separator: " ")),
        ])
    }

    /// RFC 6750 §3.1: expired, revoked and invented tokens look the same.
    private func refusal(_ request: IssuerRequest) -> IssuerReply {
        var reply = IssuerReply.failure("invalid_token", status: 401)
        let error = request.bearerToken == nil ? "" : #", error="invalid_token""#
        reply.headers.append(
            IssuerReply.Header(name: "WWW-Authenticate", value: #"Bearer realm="demo""# + error)
        )
        return reply
    }
}
