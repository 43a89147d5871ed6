// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// The keys for the authorization request of a browser login.
extension TableReader {
    mutating func authorizationRequest() -> AuthorizationRequestOptions {
        let redirect = redirect()
        let prompt = prompt()
        let hint = string("login_hint")
        let classes = words("acr_values") ?? []
        let day = Duration.seconds(86_400)
        let age = duration("max_age", in: .zero...day * 3_650, "0s to 3650d")
        return AuthorizationRequestOptions(
            redirect: redirect,
            prompt: prompt,
            loginHint: hint,
            contextClasses: classes,
            maximumAge: age,
            parameters: texts("authorization_parameters")
        )
    }

    private mutating func redirect() -> AuthorizationRequestOptions.Redirect {
        let port = integer("redirect_port", in: 0...65_535)
        let uri = string("redirect_uri")
        if has("redirect_uri"), has("redirect_port") {
            report("redirect_port", "cannot be combined with redirect_uri, which contains the port")
        }
        return uri.map { .registered($0) } ?? .port(port ?? 0)
    }

    /// Reads `prompt`; an empty string means that none is sent.
    private mutating func prompt() -> String? {
        guard case .string("") = value("prompt")?.content else { return string("prompt") }
        return ""
    }
}
