// SPDX-License-Identifier: MIT

import Text

extension IssuerState {
    /// How long a pushed request may be opened.
    private static let pushedLifetime: Duration = .seconds(60)

    /// The pushed authorization request endpoint (RFC 9126 §2).
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

    /// The pushed parameters that `query` names, or its own; `nil` when it has none that may be used.
    ///
    /// A pushed request may be opened once (RFC 9126 §4).
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
