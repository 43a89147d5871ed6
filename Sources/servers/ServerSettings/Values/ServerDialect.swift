// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The ways in which a server of kind `oidc` or `oauth2` differs from the specifications.
package struct ServerDialect: Hashable, Sendable {
    package var requests = TokenRequestFormat()
    package var responses = TokenResponseFormat()
    package var redirects = RedirectFormat()
    /// Whether browser logins send a code challenge (RFC 7636).
    ///
    /// Some servers reject it.
    package var usesPKCE = true
    /// The error codes by which a refresh says that the login is over, besides those of the specifications.
    package var loginOverCodes: [String] = []

    /// The parameters added to a token request for a code or for the client's credentials, by name.
    package var tokenParameters: [String: String] = [:]
    /// The parameters added to a refresh, by name.
    package var refreshParameters: [String: String] = [:]
    /// The `grant_type` for the client's credentials, if it is not `client_credentials` (RFC 6749 §4.4.2).
    package var clientGrantType: String?
    /// The endpoint that refresh tokens are sent to, if it is not the token endpoint.
    package var refreshEndpoint: String?
    /// The requests that prolong an access token, for servers without refresh tokens.
    package var prolonging: TokenProlonging?
    /// The request that revokes a token, if it is not that of RFC 7009.
    package var revocation: RevocationFormat?

    package init() {}

    /// The URL that refresh tokens are sent to, if it is not the token endpoint.
    package var renewalURL: String? { prolonging?.request.endpoint ?? refreshEndpoint }

    /// The parameters of refreshes that the agent sets.
    package static let ownRefreshParameters: Set<ByteText> = [
        "audience", "client_assertion", "client_assertion_type", "client_id", "client_secret", "grant_type",
        "refresh_token", "resource", "scope",
    ]
    /// The parameters of other token requests that the agent sets.
    package static let ownParameters = ownRefreshParameters.union([
        "assertion", "code", "code_verifier", "device_code", "password", "redirect_uri", "subject_token",
        "username",
    ])

    package static let lacksSecret = "prolonging a token requires a client secret"

    /// Returns the errors that are visible without asking the server, for a client with or without a secret.
    package func problems(hasSecret: Bool) -> [ServerProfileError] {
        let secret = TokenProlonging.Placeholder.clientSecret.rawValue
        let needsSecret = [prolonging?.request, prolonging?.first].contains {
            $0?.parameters.values.contains(secret) ?? false
        }
        return (needsSecret && !hasSecret ? [ServerProfileError("prolong", ServerDialect.lacksSecret)] : [])
            + requests.problems + responses.problems() + redirects.problems + (prolonging?.problems ?? [])
            + (revocation?.problems ?? [])
    }
}

/// The form of a server's authorization requests and of the redirects that end them.
package struct RedirectFormat: Hashable, Sendable {
    /// The server's names of the parameters of authorization requests, by those of the specifications.
    package var names: [String: String] = [:]
    /// The text sent as `redirect_uri`, if it is not the redirect URI but a name for it.
    package var redirectName: String?
    /// The parameter of the redirect that has the code.
    package var code = "code"
    /// The parameters of the redirect that the session keeps and shows to the user.
    package var keptParameters: [String] = []

    package init() {}

    private static let own: Set<ByteText> = [
        "audience", "client_id", "code_challenge", "code_challenge_method", "redirect_uri", "resource",
        "response_type", "scope", "state",
    ]
    /// The parameters of a redirect that the agent reads itself, or that must not be shown.
    private static let unkept: Set<ByteText> = [
        "access_token", "code", "error", "id_token", "iss", "refresh_token", "state",
    ]

    fileprivate var problems: [ServerProfileError] {
        let names = TokenRequestFormat.problems(ofNames: names, besides: RedirectFormat.own)
        let kept = keptParameters.filter {
            RedirectFormat.unkept.contains($0.bytewise) || $0.bytewise == code.bytewise
        }
        return names.map { ServerProfileError("authorization_names", $0) }
            + kept.map { ServerProfileError("callback", "must not keep \($0)") }
    }
}

/// The requests that prolong an access token, in which the token itself takes the place of a refresh token.
package struct TokenProlonging: Hashable, Sendable {
    /// One request, whose response contains the new access token.
    package struct Request: Hashable, Sendable {
        package var endpoint: String
        package var usesGet: Bool
        /// The parameters, by name.
        ///
        /// A value that is one of ``Placeholder`` stands for what it names.
        package var parameters: [String: String]

        package init(endpoint: String, usesGet: Bool, parameters: [String: String]) {
            self.endpoint = endpoint
            self.usesGet = usesGet
            self.parameters = parameters
        }
    }

    /// A value that is filled in when the request is sent.
    package enum Placeholder: String, CaseIterable, Sendable {
        case accessToken = "{access_token}"
        case clientID = "{client_id}"
        case clientSecret = "{client_secret}"
    }

    package var request: Request
    /// A request that is sent once, after the login, with the token of the login.
    package var first: Request?

    package init(_ request: Request, first: Request? = nil) {
        self.request = request
        self.first = first
    }

    fileprivate var problems: [ServerProfileError] {
        [request, first].compactMap(\.self)
            .filter { !$0.parameters.values.contains(Placeholder.accessToken.rawValue) }
            .map { _ in ServerProfileError("prolong", "parameters must contain \"{access_token}\"") }
    }
}

/// A request that revokes a token in another form than that of RFC 7009.
package struct RevocationFormat: Hashable, Sendable {
    /// The token to revoke, spelled as in the configuration.
    package enum Token: String, CaseIterable, Sendable {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
    }

    /// The place of the token, spelled as in the configuration.
    package enum Placement: String, CaseIterable, Sendable {
        case form
        case json
        /// The header `Authorization`, with the scheme `Bearer`.
        case bearer
        /// The path of the endpoint.
        case path
    }

    /// The method, spelled as in the configuration.
    package enum Method: String, CaseIterable, Sendable {
        case post = "POST"
        case delete = "DELETE"
    }

    /// The URL, in whose path `{client_id}` and `{token}` are filled in.
    package var endpoint: String
    package var method: Method
    package var token: Token
    package var placement: Placement
    /// The parameter with the token.
    package var name: String
    /// Further parameters, by name, in whose values `{client_id}` and `{client_secret}` are filled in.
    package var parameters: [String: String] = [:]
    /// The header `Authorization`, in which `{client_id}` and `{client_secret}` are filled in, or `nil` for the
    /// client's Basic credentials.
    package var authorization: String?

    package init(endpoint: String, method: Method, token: Token, placement: Placement, name: String) {
        self.endpoint = endpoint
        self.method = method
        self.token = token
        self.placement = placement
        self.name = name
    }

    /// The codes by which servers say that a token is not valid any more.
    package static let codesOfInvalidTokens: Set<ByteText> = [
        "invalid_auth", "invalid_grant", "invalid_token", "not_authed", "token_expired", "token_revoked",
    ]

    /// Returns the URL with the token and the client ID filled in.
    package func address(of token: String, client: String) -> String {
        let values = ["token": token, "client_id": client]
        return PlaceholderText.filled(endpoint) { values[$0].map { PercentCoding.encoded($0) } }.text
    }

    /// Returns `text` with the client ID and the secret filled in.
    package func filled(_ text: String, client: String, secret: String) -> String {
        let values = ["client_id": client, "client_secret": secret]
        return PlaceholderText.filled(text) { values[$0] }.text
    }

    /// Whether the request has a body with parameters.
    package var hasParameters: Bool { placement == .form || placement == .json }

    /// Whether the parameters have the secret.
    private var parametersHaveSecret: Bool { parameters.values.contains(where: RevocationFormat.hasSecret) }

    /// Whether the request cannot be sent without a client secret.
    package var requiresSecret: Bool {
        parametersHaveSecret || (authorization.map(RevocationFormat.hasSecret) ?? false)
    }

    /// Whether the client proves itself by Basic credentials, and not in another way.
    package var usesBasic: Bool {
        placement != .bearer && authorization == nil && !parametersHaveSecret
    }

    private static func hasSecret(_ text: String) -> Bool { text.bytewise.contains("{client_secret}") }

    fileprivate var problems: [ServerProfileError] {
        problemsOfAddress + problemsOfParameters.map { ServerProfileError("revocation", $0) }
    }

    private var problemsOfParameters: [String] {
        var messages: [String] = []
        if !hasParameters, !parameters.isEmpty {
            messages.append("parameters requires format = \"form\" or \"json\"")
        }
        if parameters[name] != nil {
            messages.append("parameters must not contain \(name), the token's name")
        }
        if let authorization {
            if placement == .bearer {
                messages.append("authorization cannot be combined with format = \"bearer\"")
            }
            if !HeaderSyntax.isFit(authorization.utf8) {
                messages.append("authorization must be \(HeaderSyntax.rule)")
            }
        }
        return messages
    }

    private var problemsOfAddress: [ServerProfileError] {
        // In a host, a token would be told to resolvers.
        let origins = ["x", "y"].map { try? EndpointURL(address(of: $0, client: $0)).origin }
        guard origins[0] == origins[1] else {
            return [ServerProfileError("revocation", "{token} and {client_id} may only be in the path")]
        }
        let hasToken = endpoint.bytewise.contains("{token}")
        guard hasToken != (placement == .path) else { return [] }
        let message =
            hasToken
            ? "{token} in the endpoint requires format = \"path\"" : "format \"path\" requires {token}"
        return [ServerProfileError("revocation", message)]
    }
}
