// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// What the configuration says about the authorization request (RFC 6749 §4.1.1, OIDC Core §3.1.2.1).
package struct AuthorizationRequest: Equatable, Sendable {
    /// Where the server sends the browser back to.
    package enum Redirect: Equatable, Sendable {
        /// `http://127.0.0.1:PORT/callback`; port 0: any free one (RFC 8252 §7.3).
        case port(Int)
        /// The same with one of these ports, as the server has registered them for us.
        case oneOf([Int])
        /// This very address, which is registered at the server.
        case registered(String)
    }

    package var redirect: Redirect
    /// `prompt`; empty: none is sent; `nil`: as the scopes want it.
    package var prompt: String?
    /// `login_hint`: the account to log in with, as the server knows it.
    package var loginHint: String?
    /// `acr_values`: authentication context classes, the most wanted first.
    package var contextClasses: [String]
    /// `max_age`: longest time since the person authenticated, in whole seconds.
    package var maximumAge: Duration?
    /// Further parameters by name; none that has a key of its own or that we set.
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

    /// The parameter that says how the answer comes back (OAuth 2.0 Multiple Response Types §2.1).
    static let responseMode = "response_mode"
    /// Its value for an answer in a POST (OAuth 2.0 Form Post Response Mode §2).
    static let formPost = "form_post"

    /// The parameters of the request that the configuration decides, for a login that asks for `scopes`.
    func chosen(for scopes: [String]) -> [(name: String, value: String)] {
        var chosen: [(name: String, value: String)] = []
        if let prompt = promptSent(with: scopes) { chosen.append(("prompt", prompt)) }
        if let loginHint { chosen.append(("login_hint", loginHint)) }
        if !contextClasses.isEmpty { chosen.append(("acr_values", contextClasses.joined(separator: " "))) }
        if let maximumAge { chosen.append(("max_age", "\(maximumAge.components.seconds)")) }
        return chosen + parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Whether `prompt=consent` is sent although nobody wrote it: there are servers that fail at it.
    func addsConsent(for scopes: [String]) -> Bool { prompt == nil && promptSent(with: scopes) != nil }

    /// The `prompt` to send: without consent, servers ignore or refuse `offline_access` (OIDC Core §11).
    private func promptSent(with scopes: [String]) -> String? {
        guard let prompt else { return scopes.contains("offline_access") ? "consent" : nil }
        return prompt.isEmpty ? nil : prompt
    }

    /// Where we can listen for the answer, the first that is free; none: a person brings it.
    var places: [LoopbackRedirect] {
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

    var place: LoopbackRedirect? { places.first }

    /// Whether the answer comes in a form, which shows in no address.
    var takesForms: Bool {
        parameters[AuthorizationRequest.responseMode]?.bytewise == ByteText(AuthorizationRequest.formPost)
    }

    /// The redirect URI, where `port` is the one that is listened on.
    func redirectURI(port: Int) -> String {
        switch redirect {
        case .port, .oneOf: "http://127.0.0.1:\(port)\(LoopbackRedirect.standardPath)"
        case .registered(let uri): uri
        }
    }
}

extension AuthorizationRequest {
    /// Parameters that we set ourselves, on which the safety of a login rests.
    private static let ours: Set<ByteText> = [
        "response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method",
        "nonce", "dpop_jkt", "request", "request_uri",
    ]
    /// Parameters with a key of their own, which is the same but for `scope` and `resource`.
    private static let keys: [ByteText: String] = [
        "scope": "scopes", "resource": "resources", "audience": "audience", "prompt": "prompt",
        "login_hint": "login_hint", "acr_values": "acr_values", "max_age": "max_age",
    ]
    /// Parameters that a browser's history must not hold.
    private static let secrets: Set<ByteText> = ["client_secret", "client_assertion", "code_verifier"]

    /// What shows as wrong without asking the server.
    var problems: [ServerProfileError] {
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

    /// OIDC Core §3.1.2.1: words; `none` must stand alone.
    private var promptProblem: ServerProfileError? {
        guard let prompt else { return nil }
        guard prompt.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return ServerProfileError("prompt", "must be words such as \"consent\" or \"login\"")
        }
        let words = prompt.split(separator: " ")
        guard words.contains("none"), words.count > 1 else { return nil }
        return ServerProfileError("prompt", "must not name another word beside \"none\"")
    }

    private static func classProblem(_ name: String) -> ServerProfileError? {
        guard name.isEmpty || !name.utf8.allSatisfy(\.isVisibleASCII) else { return nil }
        return ServerProfileError("acr_values", "\"\(name)\" is no such value; write one per element")
    }

    private static func parameterProblem(_ name: String) -> ServerProfileError? {
        let key = "authorization_parameters"
        if ours.contains(name.bytewise) {
            return ServerProfileError(key, "must not set \(name), which tokenagent sets for each login")
        }
        if let own = keys[name.bytewise] {
            return ServerProfileError(key, "must not set \(name): it has the key \(own)")
        }
        if secrets.contains(name.bytewise) {
            return ServerProfileError(key, "must not set \(name), which a browser must not see")
        }
        guard name.isEmpty || !name.utf8.allSatisfy(\.isVisibleASCII) else { return nil }
        return ServerProfileError(key, "\"\(name)\" is no name of a parameter")
    }

    /// An answer behind `#` stays in the browser, and one that is a JWT is nothing we read.
    private var responseModeProblem: ServerProfileError? {
        let key = "authorization_parameters"
        switch parameters[AuthorizationRequest.responseMode]?.bytewise {
        case nil, "query": return nil
        case "form_post":
            guard place == nil else { return nil }
            let message =
                "must not set response_mode to form_post: a redirect_uri that is pasted shows no form"
            return ServerProfileError(key, message)
        case "fragment":
            return ServerProfileError(
                key,
                "must not set response_mode to fragment, which browsers keep to themselves: write query or form_post"
            )
        default: return ServerProfileError(key, "must set response_mode to query or form_post, or not at all")
        }
    }
}
