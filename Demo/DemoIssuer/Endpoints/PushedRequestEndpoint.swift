// SPDX-License-Identifier: MIT

import Text

extension IssuerState {
    /// The time within which a pushed request can be opened: 60 seconds.
    private static let pushedLifetime: Duration = .seconds(60)

    /// Answers a pushed authorization request (RFC 9126 §2).
    mutating func push(_ request: IssuerRequest) throws -> IssuerResponse {
        guard let client = authenticated(request) else {
            throw OAuthErrorResponse(code: "invalid_client", status: 401)
        }
        guard request.form["request_uri"] == nil else { throw OAuthErrorResponse(code: "invalid_request") }
        let reference = "urn:ietf:params:oauth:request_uri:" + RandomText.token("par")
        grants.pushedRequests[reference] = GrantLedger.PushedRequest(
            client: client.id,
            parameters: request.form,
            expiresAt: now + IssuerState.pushedLifetime
        )
        return .json(
            [
                "request_uri": .string(reference),
                "expires_in": .integer(IssuerState.pushedLifetime.components.seconds),
            ],
            status: 201
        )
    }

    /// Returns the pushed parameters that `query` references, or those of `query` itself.
    ///
    /// A pushed request can be opened once (RFC 9126 §4).
    ///
    /// - Returns: `nil` if there are no usable parameters.
    mutating func authorizationParameters(_ query: FormFields) -> FormFields? {
        guard let reference = query["request_uri"] else {
            return settings.requiresPushedRequests ? nil : query
        }
        guard let pushed = grants.pushedRequests.removeValue(forKey: reference),
            pushed.client == query["client_id"], now < pushed.expiresAt
        else { return nil }
        return pushed.parameters
    }
}
