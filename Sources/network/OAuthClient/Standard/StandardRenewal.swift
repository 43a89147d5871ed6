// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// The requests that renew tokens with a refresh token, or with the access token that is prolonged.
extension StandardServer {
    /// Returns the endpoint that refresh tokens are sent to, if it is not the token endpoint.
    func renewalURL() throws(RefreshFailure) -> EndpointURL? {
        guard let address = profile.dialect.renewalURL else { return nil }
        return try EndpointURL(
            address,
            of: profile.dialect.prolonging == nil ? "refresh_endpoint" : "prolong"
        )
    }

    /// Returns a sender of refreshes, which is `endpoint` but for its URL and the form of requests.
    func renewing(at endpoint: TokenEndpoint) throws(RefreshFailure) -> TokenEndpoint {
        var endpoint = endpoint
        endpoint.isRenewal = true
        guard let url = try renewalURL() else { return endpoint }
        endpoint.url = url
        endpoint.publicAddressOnly = false
        if let request = profile.dialect.prolonging?.request { endpoint.take(request) }
        return endpoint
    }

    /// Returns the parameters of a refresh, except for scopes and audiences (RFC 6749 §6).
    func renewalForm(with token: SecretID) async throws(RefreshFailure) -> FormBody {
        if let request = profile.dialect.prolonging?.request {
            return try await form(of: request) { form, name throws(RefreshFailure) in
                try form.add(name, token, from: tools.memory)
            }
        }
        let form = FormBody([("grant_type", "refresh_token")])
        try form.add("refresh_token", token, from: tools.memory)
        form.add(profile.dialect.refreshParameters)
        return form
    }

    /// Sends the request after a login that replaces its short-lived `token`.
    func prolonged(
        _ token: String,
        by request: TokenProlonging.Request
    ) async throws(RefreshFailure) -> (answer: TokenResponse, requestedAt: Instant) {
        var endpoint = TokenEndpoint(
            url: try EndpointURL(request.endpoint, of: "prolong"),
            authentication: ClientAuthentication(clientID: "", proof: .none),
            trust: profile.trust,
            publicAddressOnly: false,
            tools: tools,
            dialect: profile.dialect
        )
        endpoint.take(request)
        return try await endpoint.send(try await form(of: request) { $0.add($1, token) })
    }

    private func form(
        of request: TokenProlonging.Request,
        _ addToken: (FormBody, _ name: String) throws(RefreshFailure) -> Void
    ) async throws(RefreshFailure) -> FormBody {
        let form = FormBody()
        for (name, value) in request.parameters.sorted(by: { $0.key < $1.key }) {
            switch TokenProlonging.Placeholder(rawValue: value) {
            case nil: form.add(name, value)
            case .accessToken: try addToken(form, name)
            case .clientID: form.add(name, profile.client.id)
            case .clientSecret:
                guard let secret = try await sharedSecret() else {
                    throw RefreshFailure(kind: .misconfigured, message: ServerDialect.lacksSecret)
                }
                try form.add(name, secret, from: tools.memory)
            }
        }
        return form
    }
}

extension TokenEndpoint {
    /// Makes this a sender of `request`, which contains everything that it proves.
    fileprivate mutating func take(_ request: TokenProlonging.Request) {
        authentication = ClientAuthentication(clientID: "", proof: .none)
        dialect.requests = TokenRequestFormat()
        dialect.requests.placement = request.usesGet ? .get : .form
    }
}
