// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The configuration of the authorization request (RFC 6749 §4.1.1, OIDC Core §3.1.2.1).
package struct AuthorizationRequestOptions: Equatable, Sendable {
    /// The redirect URI, to which the server sends the browser.
    package enum Redirect: Equatable, Sendable {
        /// `http://127.0.0.1:PORT/callback`.
        ///
        /// Port 0 selects any free port (RFC 8252 §7.3).
        case port(Int)
        /// `http://127.0.0.1:PORT/callback` with one of these ports, which are registered at the server.
        case oneOf([Int])
        /// This exact redirect URI, which is registered at the server.
        case registered(String)
    }

    package var redirect: Redirect
    /// The value of `prompt`.
    ///
    /// Empty sends none, and `nil` sends the one that the scopes require.
    package var prompt: String?
    /// The `login_hint`: the account to log in with, as the server knows it.
    package var loginHint: String?
    /// The `acr_values`: authentication context classes, in the order of preference.
    package var contextClasses: [String]
    /// The `max_age`: the maximum time since the user authenticated, in whole seconds.
    package var maximumAge: Duration?
    /// Further parameters by name.
    ///
    /// None has a configuration key of its own or is set by the agent.
    package var parameters: [String: String]

    package init(
        redirect: Redirect = .port(0),
        prompt: String? = nil,
        loginHint: String? = nil,
        contextClasses: [String] = [],
        maximumAge: Duration? = nil,
        parameters: [String: String] = [:]
    ) {
        self.redirect = redirect
        self.prompt = prompt
        self.loginHint = loginHint
        self.contextClasses = contextClasses
        self.maximumAge = maximumAge
        self.parameters = parameters
    }

    /// The parameter for the way the response returns (OAuth 2.0 Multiple Response Types §2.1).
    static let responseMode = "response_mode"
    /// The value of `response_mode` for a response in a POST (OAuth 2.0 Form Post Response Mode §2).
    static let formPost = "form_post"

    /// Returns the parameters that the configuration decides, for a login with `scopes`.
    package func chosen(for scopes: [String]) -> [(name: String, value: String)] {
        var chosen: [(name: String, value: String)] = []
        if let prompt = promptSent(with: scopes) { chosen.append(("prompt", prompt)) }
        if let loginHint { chosen.append(("login_hint", loginHint)) }
        if !contextClasses.isEmpty { chosen.append(("acr_values", contextClasses.joined(separator: " "))) }
        if let maximumAge { chosen.append(("max_age", "\(maximumAge.components.seconds)")) }
        return chosen + parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Returns whether `prompt=consent` is sent although it is not configured.
    ///
    /// Some servers fail on it.
    package func addsConsent(for scopes: [String]) -> Bool {
        prompt == nil && promptSent(with: scopes) != nil
    }

    /// Returns the `prompt` to send.
    ///
    /// Without consent, servers ignore or reject `offline_access` (OIDC Core §11).
    private func promptSent(with scopes: [String]) -> String? {
        guard let prompt else { return scopes.contains("offline_access") ? "consent" : nil }
        return prompt.isEmpty ? nil : prompt
    }

    /// The redirect URIs to listen on, of which the first free one is used.
    ///
    /// If empty, the user pastes the response.
    package var places: [LoopbackRedirect] {
        let places: [LoopbackRedirect] =
            switch redirect {
            case .port(let port): [.standard(port: port)]
            case .oneOf(let ports): ports.map { .standard(port: $0) }
            case .registered(let uri): [LoopbackRedirect(uri)].compactMap(\.self)
            }
        return places.map { place in
            var place = place
            place.takesForms = takesForms
            return place
        }
    }

    package var place: LoopbackRedirect? { places.first }

    /// Whether the response comes in a form, which appears in no URL.
    package var takesForms: Bool {
        parameters[AuthorizationRequestOptions.responseMode]?.bytewise
            == ByteText(AuthorizationRequestOptions.formPost)
    }

    /// Returns the redirect URI, with `port` as the port that is listened on.
    package func redirectURI(port: Int) -> String {
        switch redirect {
        case .port, .oneOf: "http://127.0.0.1:\(port)\(LoopbackRedirect.standardPath)"
        case .registered(let uri): uri
        }
    }
}

extension AuthorizationRequestOptions {
    /// The parameters that the agent sets.
    ///
    /// The security of a login depends on them.
    private static let ours: Set<ByteText> = [
        "response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method",
        "nonce", "dpop_jkt", "request", "request_uri",
    ]
    /// The parameters with their own configuration key.
    ///
    /// The key has the same name except for `scope` and `resource`.
    private static let keys: [ByteText: String] = [
        "scope": "scopes", "resource": "resources", "audience": "audience", "prompt": "prompt",
        "login_hint": "login_hint", "acr_values": "acr_values", "max_age": "max_age",
    ]
    /// The parameters that must not appear in a browser's history.
    private static let secrets: Set<ByteText> = ["client_secret", "client_assertion", "code_verifier"]

    /// The errors that are visible without asking the server.
    package var problems: [ServerProfileError] {
        [redirectProblem, promptProblem, responseModeProblem].compactMap(\.self)
            + contextClasses.compactMap(Self.classProblem)
            + parameters.keys.sorted().compactMap(Self.parameterProblem)
    }

    private var redirectProblem: ServerProfileError? {
        guard case .registered(let uri) = redirect else { return nil }
        guard uri.isAbsoluteURI else {
            return ServerProfileError("redirect_uri", "must be an absolute URI without fragment")
        }
        let written = uri.bytewise.lowercased
        guard place == nil,
            LoopbackRedirect.hosts.contains(where: { written.hasPrefix(ByteText("http://\($0):")) })
        else { return nil }
        return ServerProfileError("redirect_uri", "must have a port from 1 to 65535")
    }

    /// The error in `prompt`, which must be words, with `none` only alone (OIDC Core §3.1.2.1), or `nil` if
    /// there is none.
    private var promptProblem: ServerProfileError? {
        guard let prompt else { return nil }
        guard prompt.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return ServerProfileError("prompt", "must be words such as \"consent\" or \"login\"")
        }
        let words = prompt.split(separator: " ")
        guard words.contains("none"), words.count > 1 else { return nil }
        return ServerProfileError("prompt", "must not combine \"none\" with other values")
    }

    private static func classProblem(_ name: String) -> ServerProfileError? {
        guard name.isEmpty || !name.utf8.allSatisfy(\.isVisibleASCII) else { return nil }
        return ServerProfileError("acr_values", "\"\(name)\" is not a valid value (one value per element)")
    }

    private static func parameterProblem(_ name: String) -> ServerProfileError? {
        let key = "authorization_parameters"
        if ours.contains(name.bytewise) {
            return ServerProfileError(key, "must not set \(name), which tokenagent sets for each login")
        }
        if let own = keys[name.bytewise] {
            return ServerProfileError(key, "must not set \(name), which has the key \(own)")
        }
        if secrets.contains(name.bytewise) {
            return ServerProfileError(key, "must not set \(name), which a browser must not see")
        }
        guard name.isEmpty || !name.utf8.allSatisfy(\.isVisibleASCII) else { return nil }
        return ServerProfileError(key, "\"\(name)\" is not a parameter name")
    }

    /// The error in `response_mode`, or `nil` if there is none.
    ///
    /// A response after `#` stays in the browser, and a response that is a JWT is not supported.
    private var responseModeProblem: ServerProfileError? {
        let key = "authorization_parameters"
        switch parameters[AuthorizationRequestOptions.responseMode]?.bytewise {
        case nil, "query": return nil
        case "form_post":
            guard place == nil else { return nil }
            let message =
                "must not set response_mode to form_post with a redirect_uri that is pasted"
            return ServerProfileError(key, message)
        case "fragment":
            return ServerProfileError(
                key,
                "must not set response_mode to fragment, which browsers do not send"
            )
        default: return ServerProfileError(key, "must set response_mode to query or form_post, or not at all")
        }
    }
}
