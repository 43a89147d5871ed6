// SPDX-License-Identifier: MIT

import Text

extension IssuerState {
    /// Returns the metadata document (OIDC Discovery §3, RFC 8414 §2).
    func discovery() throws -> IssuerResponse {
        var document = JSONObject()
        let endpoints = [
            ("authorization_endpoint", "/authorize"), ("token_endpoint", "/token"),
            ("device_authorization_endpoint", "/device_authorization"), ("revocation_endpoint", "/revoke"),
            ("pushed_authorization_request_endpoint", "/par"),
            ("introspection_endpoint", "/introspect"), ("userinfo_endpoint", "/userinfo"),
            ("end_session_endpoint", "/end_session"), ("jwks_uri", "/jwks"),
        ]
        document["issuer"] = .string(issuer)
        for (name, path) in endpoints { document[name] = .string(issuer + path) }
        document["response_types_supported"] = ["code"]
        document["grant_types_supported"] = .strings(
            [
                "authorization_code", "refresh_token", "password", "client_credentials",
                "urn:ietf:params:oauth:grant-type:device_code",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            ] + (registry.signers.isEmpty ? [] : [IssuerState.assertionGrant])
        )
        document["token_endpoint_auth_methods_supported"] = [
            "client_secret_basic", "client_secret_post", "none",
        ]
        document["code_challenge_methods_supported"] = ["S256"]
        document["subject_types_supported"] = ["public"]
        document["id_token_signing_alg_values_supported"] = [.string(signingKey.algorithm.rawValue)]
        document["scopes_supported"] = .strings(settings.knownScopes.sorted())
        document["authorization_response_iss_parameter_supported"] = true
        if settings.requiresPushedRequests { document["require_pushed_authorization_requests"] = true }
        if settings.dpop != .off { document["dpop_signing_alg_values_supported"] = ["ES256"] }
        document.replace(with: settings.metadata)
        return .json(.object(document))
    }

    /// Returns the key set (RFC 7517 §5).
    func keySet() throws -> IssuerResponse {
        .json(["keys": .array([try signingKey.webKey()])])
    }
}
