// SPDX-License-Identifier: MIT

import Crypto
import ServerSettings
import Synchronization
import Text
import TokenCore

/// One authorization request and its pending response (RFC 6749 §4.1, RFC 7636, RFC 9207).
///
/// The `state` is accepted once. Nobody can finish or disturb the login without knowing it. Safe to call from
/// any thread.
final class AuthorizationTransaction: Sendable {
    /// A response with the right `state`.
    enum Response: Equatable, Sendable {
        case code(String)
        case refused(RefreshFailure)
    }

    let redirectURI: String
    /// The PKCE verifier of 43 characters and 256 bits (RFC 7636 §4.1).
    let verifier: String
    let nonce: String
    let state: String
    private let issuer: String?
    private let namesIssuer: Bool
    private let keyThumbprint: String?
    private let format: RedirectFormat
    private let isAnswered = Mutex(false)
    private let kept = Mutex<[String: String]>([:])

    /// The maximum number of bytes of an authorization code.
    ///
    /// Real codes are below 4 KiB.
    private static let codeLimit = 6_144

    /// Creates a request with a random `state`, `nonce` and verifier.
    ///
    /// - Parameters:
    ///   - redirectURI: The URI that the response comes to.
    ///   - issuer: The name of the authorization server, if it has one.
    ///   - namesIssuer: Whether the server announces `iss` in its responses. A response without `iss` is then
    ///     rejected.
    ///   - keyThumbprint: The thumbprint of the key that the code is to be bound to (RFC 9449 §10).
    ///   - format: The names of parameters.
    init(
        redirectURI: String,
        issuer: String?,
        namesIssuer: Bool,
        keyThumbprint: String? = nil,
        format: RedirectFormat = RedirectFormat()
    ) {
        self.redirectURI = redirectURI
        self.issuer = issuer
        self.namesIssuer = namesIssuer
        self.keyThumbprint = keyThumbprint
        self.format = format
        verifier = RandomText.make()
        state = RandomText.make()
        nonce = RandomText.make()
    }

    /// The redirect URI, or the server's name for it.
    var sentRedirect: String { format.redirectName ?? redirectURI }

    /// The parameters of the accepted redirect that the session keeps.
    var keptParameters: [String: String] { kept.withLock { $0 } }

    /// Returns the parameters of the request (RFC 6749 §4.1.1).
    func parameters(_ profile: ServerProfile) -> [(name: String, value: String)] {
        var parameters = [
            ("response_type", "code"), ("client_id", profile.client.id), ("redirect_uri", sentRedirect),
            ("state", state),
        ]
        if profile.dialect.usesPKCE {
            parameters += [("code_challenge", challenge), ("code_challenge_method", "S256")]
        }
        if !profile.scopes.isEmpty {
            let scope = profile.scopes.joined(separator: profile.dialect.responses.scopeSeparator.rawValue)
            parameters.append(("scope", scope))
        }
        if profile.scopes.contains("openid") { parameters.append(("nonce", nonce)) }
        parameters += profile.authorization.chosen(for: profile.scopes)
        if let audience = profile.audience { parameters.append(("audience", audience)) }
        for resource in profile.resources { parameters.append(("resource", resource)) }
        if let keyThumbprint { parameters.append(("dpop_jkt", keyThumbprint)) }
        return parameters
    }

    /// Returns the URL for the user's browser, with the whole request in it.
    func address(at endpoint: EndpointURL, profile: ServerProfile) -> String {
        AuthorizationTransaction.address(
            at: endpoint,
            parameters(profile).map { (format.names[$0.name] ?? $0.name, $0.value) }
        )
    }

    /// Returns a URL like ``address(at:profile:)`` with other parameters.
    static func address(at endpoint: EndpointURL, _ parameters: [(name: String, value: String)]) -> String {
        let query = parameters.map { "\($0)=\(PercentCoding.encoded($1))" }.joined(separator: "&")
        // Keep the query of the endpoint (RFC 6749 §3.1).
        return endpoint.description + (endpoint.query == nil ? "?" : "&") + query
    }

    /// The code challenge, BASE64URL(SHA256(verifier)).
    var challenge: String {
        Base64.urlEncoded(SHA256.hash(data: Array(verifier.utf8)))
    }

    /// The meaning of a redirect for the login.
    enum ReceivedRedirect: Equatable, Sendable {
        /// The first redirect with the right `state`.
        case response(Response)
        /// A later one, for example because the user has clicked twice.
        case repetition
        /// One without the `state`, which is of another login or of none.
        case foreign
    }

    /// Reads the parameters of a redirect.
    func read(_ query: some StringProtocol) -> ReceivedRedirect {
        let pairs = FormEncoding.pairs(of: query)
        let parameters = pairs.compactMap(\.self)
        guard let given = AuthorizationTransaction.single("state", in: parameters), isOurs(given) else {
            return .foreign
        }
        let isFirst = isAnswered.withLock { isAnswered in
            defer { isAnswered = true }
            return !isAnswered
        }
        guard isFirst else { return .repetition }
        // With an invalid escape or invalid UTF-8 the server's response is unknown.
        return .response(parameters.count == pairs.count ? judge(parameters) : .malformed)
    }

    /// Returns the response in `query` if it carries the right `state`, for the first time, or `nil`
    /// otherwise.
    func accept(_ query: some StringProtocol) -> Response? {
        if case .response(let response) = read(query) { response } else { nil }
    }

    private func judge(_ parameters: [(name: String, value: String)]) -> Response {
        for name in [format.code, "error", "iss"]
        where parameters.count(where: { $0.name.bytewise == name.bytewise }) > 1 {
            return .malformed
        }
        // Compare `iss` as a string before anything else is used, errors included (RFC 9207 §2.4).
        let named = AuthorizationTransaction.single("iss", in: parameters)
        let isOther = named.map { !IssuerNameRules.isName($0, of: issuer ?? $0, tenant: nil) }
        if issuer != nil, isOther ?? namesIssuer { return .mixedUp }
        // A parameter without a value counts as omitted (RFC 6749 §3.1).
        if let code = AuthorizationTransaction.single("error", in: parameters), !code.isEmpty {
            let description = AuthorizationTransaction.single("error_description", in: parameters)
            return .refused(.refusal(ReportedOAuthError(code: code, description: description)))
        }
        guard let code = AuthorizationTransaction.single(format.code, in: parameters), !code.isEmpty,
            code.utf8.count <= AuthorizationTransaction.codeLimit,
            code.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return .malformed }
        kept.withLock { kept in
            for name in format.keptParameters {
                let value = AuthorizationTransaction.single(name, in: parameters)
                kept[name] = value.map { ServerText.cleaned($0, limit: 255) }
            }
        }
        return .code(code)
    }

    /// Compares `candidate` with the `state` in constant time, reading every byte.
    private func isOurs(_ candidate: String) -> Bool {
        let ours = Array(state.utf8)
        let theirs = Array(candidate.utf8)
        guard ours.count == theirs.count else { return false }
        return zip(ours, theirs).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func single(_ name: String, in parameters: [(name: String, value: String)]) -> String? {
        let values = parameters.filter { $0.name.bytewise == name.bytewise }
        return values.count == 1 ? values[0].value : nil
    }
}

extension AuthorizationTransaction.Response {
    static let malformed = Self.refused(
        RefreshFailure(kind: .misbehaved, message: "the authorization response is invalid")
    )
    static let mixedUp = Self.refused(
        RefreshFailure(
            kind: .misbehaved,
            code: "issuer_mismatch",
            message: "the authorization response is from another issuer"
        )
    )
}

extension RefreshFailure {
    /// Returns the failure for an error that the authorization endpoint sent through the browser (RFC 6749
    /// §4.1.2.1).
    fileprivate static func refusal(_ error: ReportedOAuthError) -> RefreshFailure {
        let answer = TokenErrorResponse(status: 400, error: error)
        var failure = FailureClassification.classify(answer, from: "")
        failure.message = ServerText.cleaned("the server rejected the login: \(error.text)")
        return failure
    }
}
