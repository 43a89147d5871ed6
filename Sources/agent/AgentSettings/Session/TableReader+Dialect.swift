// SPDX-License-Identifier: MIT

import ServerSettings
import TOML
import Text

/// The keys for servers of kind `oidc` or `oauth2` that differ from the specifications.
extension TableReader {
    mutating func dialect() -> ServerDialect {
        var dialect = ServerDialect()
        dialect.requests = tokenRequestFormat()
        dialect.responses = tokenResponseFormat(dialect.responses)
        if let separator = word("scope_separator", TokenResponseFormat.ScopeSeparator.self) {
            dialect.responses.scopeSeparator = separator
        }
        dialect.redirects = redirectFormat()
        dialect.usesPKCE = boolean("pkce") ?? true
        dialect.loginOverCodes = strings("login_over") ?? []
        dialect.tokenParameters = parameters("token_parameters", besides: ServerDialect.ownParameters)
        dialect.refreshParameters = parameters(
            "refresh_parameters",
            besides: ServerDialect.ownRefreshParameters
        )
        dialect.clientGrantType = string("grant_type")
        dialect.refreshEndpoint = url("refresh_endpoint")?.description
        dialect.prolonging = prolonging()
        if dialect.prolonging != nil {
            dialect.responses.prolongsAccessToken = true
            refuse(["refresh_endpoint", "refresh_parameters"], "prolong replaces refreshes")
        }
        dialect.revocation = revocationFormat()
        return dialect
    }

    /// Reads parameters of token requests, none of which the agent sets itself.
    private mutating func parameters(_ key: String, besides own: Set<ByteText>) -> [String: String] {
        let parameters = texts(key)
        for name in parameters.keys.sorted() where own.contains(name.bytewise) {
            report(key, "must not contain \(name), which the agent sets itself")
        }
        return parameters
    }

    private mutating func tokenRequestFormat() -> TokenRequestFormat {
        var format = TokenRequestFormat()
        guard var inner = table("token_request") else { return format }
        format.placement = inner.word("format", TokenRequestFormat.Placement.self) ?? .form
        format.names = inner.texts("names")
        format.headers = inner.texts("headers")
        inner.refuseUnknownKeys()
        return format
    }

    private mutating func redirectFormat() -> RedirectFormat {
        var format = RedirectFormat()
        format.names = texts("authorization_names")
        format.redirectName = string("redirect_name")
        guard var inner = table("callback") else { return format }
        format.code = inner.string("code") ?? format.code
        format.keptParameters = inner.strings("keep") ?? []
        inner.refuseUnknownKeys()
        return format
    }

    private mutating func prolonging() -> TokenProlonging? {
        guard var inner = table("prolong") else { return nil }
        let request = TableReader.prolongRequest(&inner)
        var first: TokenProlonging.Request?
        if var table = inner.table("first") {
            first = TableReader.prolongRequest(&table)
            table.refuseUnknownKeys()
        }
        inner.refuseUnknownKeys()
        return request.map { TokenProlonging($0, first: first) }
    }

    /// The method of a request, spelled as in the configuration.
    private enum Method: String, CaseIterable {
        case get = "GET"
        case post = "POST"
    }

    private static func prolongRequest(_ inner: inout TableReader) -> TokenProlonging.Request? {
        let endpoint = inner.requiredURL("endpoint", "URL of the request")
        let method = inner.word("method", Method.self) ?? .get
        let parameters = inner.texts("parameters")
        return endpoint.map {
            TokenProlonging.Request(
                endpoint: $0.description,
                usesGet: method == .get,
                parameters: parameters
            )
        }
    }

    private mutating func revocationFormat() -> RevocationFormat? {
        guard var inner = table("revocation") else { return nil }
        defer { inner.refuseUnknownKeys() }
        let endpoint = inner.required("endpoint", "URL of the request")
        var format = RevocationFormat(
            endpoint: endpoint ?? "",
            method: inner.word("method", RevocationFormat.Method.self) ?? .post,
            token: inner.word("token", RevocationFormat.Token.self) ?? .refreshToken,
            placement: inner.word("format", RevocationFormat.Placement.self) ?? .form,
            name: inner.string("name") ?? "token"
        )
        format.parameters = inner.texts("parameters")
        format.authorization = inner.string("authorization")
        guard endpoint != nil, inner.url(format.address(of: "x", client: "x"), of: "endpoint") != nil else {
            return nil
        }
        if has("revocation_endpoint") {
            report("revocation", "cannot be combined with revocation_endpoint")
        }
        return format
    }
}
