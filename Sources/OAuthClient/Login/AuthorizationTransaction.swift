// SPDX-License-Identifier: MIT

import Crypto
import Synchronization
import Text
import TokenCore

/// One authorization request and the response it waits for (RFC 6749 §4.1, RFC 7636, RFC 9207).
///
/// Its `state` is accepted once; without knowing it, nobody can finish or spoil the login.
final class AuthorizationTransaction: Sendable {
    /// A response that carried our `state`.
    enum Response: Equatable, Sendable {
        case code(String)
        case refused(RefreshFailure)
    }

    let redirectURI: String
    /// 43 characters, 256 bits (RFC 7636 §4.1).
    let verifier: String
    let nonce: String
    private let state: String
    private let issuer: String?
    private let namesIssuer: Bool
    private let keyThumbprint: String?
    private let isAnswered = Mutex(false)

    /// Bytes of the longest code that is accepted; real ones are below 4 KiB.
    private static let codeLimit = 6_144

    /// - Parameters:
    ///   - redirectURI: where the response comes to.
    ///   - issuer: the authorization server's name, if it has one.
    ///   - namesIssuer: the server announces `iss` in its responses, so a response without it is refused.
    ///   - keyThumbprint: the thumbprint of the key that the code is to be bound to (RFC 9449 §10).
    init(redirectURI: String, issuer: String?, namesIssuer: Bool, keyThumbprint: String? = nil) {
        self.redirectURI = redirectURI
        self.issuer = issuer
        self.namesIssuer = namesIssuer
        self.keyThumbprint = keyThumbprint
        verifier = RandomText.make()
        state = RandomText.make()
        nonce = RandomText.make()
    }

    /// The parameters of the request (RFC 6749 §4.1.1).
    func parameters(_ profile: ServerProfile) -> [(name: String, value: String)] {
        var parameters = [
            ("response_type", "code"), ("client_id", profile.client.id), ("redirect_uri", redirectURI),
            ("state", state), ("code_challenge", challenge), ("code_challenge_method", "S256"),
        ]
        if !profile.scopes.isEmpty { parameters.append(("scope", profile.scopes.joined(separator: " "))) }
        if profile.scopes.contains("openid") { parameters.append(("nonce", nonce)) }
        parameters += profile.authorization.chosen(for: profile.scopes)
        if let audience = profile.audience { parameters.append(("audience", audience)) }
        for resource in profile.resources { parameters.append(("resource", resource)) }
        if let keyThumbprint { parameters.append(("dpop_jkt", keyThumbprint)) }
        return parameters
    }

    /// The address the person's browser opens, with the whole request in it.
    func address(at endpoint: EndpointURL, profile: ServerProfile) -> String {
        AuthorizationTransaction.address(at: endpoint, parameters(profile))
    }

    /// ``address(at:profile:)`` with other parameters.
    static func address(at endpoint: EndpointURL, _ parameters: [(name: String, value: String)]) -> String {
        let query = parameters.map { "\($0)=\(PercentCoding.encoded($1))" }.joined(separator: "&")
        // A query the endpoint brought along is kept (RFC 6749 §3.1).
        return endpoint.description + (endpoint.query == nil ? "?" : "&") + query
    }

    /// BASE64URL(SHA256(verifier)).
    var challenge: String {
        Base64.urlEncoded(SHA256.hash(data: Array(verifier.utf8)))
    }

    /// The response in `query` if it carries our `state`, the first time; `nil` for everything else.
    func accept(_ query: some StringProtocol) -> Response? {
        guard let parameters = FormEncoding.decoded(query) else { return nil }
        guard let given = AuthorizationTransaction.single("state", in: parameters), isOurs(given) else {
            return nil
        }
        let isFirst = isAnswered.withLock { isAnswered in
            defer { isAnswered = true }
            return !isAnswered
        }
        return isFirst ? judge(parameters) : nil
    }

    private func judge(_ parameters: [(name: String, value: String)]) -> Response {
        for name in ["code", "error", "iss"]
        where parameters.count(where: { $0.name.bytewise == name.bytewise }) > 1 {
            return .malformed
        }
        // `iss` is compared as a string before anything else is believed, errors included (RFC 9207 §2.4).
        let named = AuthorizationTransaction.single("iss", in: parameters)
        if let issuer, named.map({ $0.bytewise != issuer.bytewise }) ?? namesIssuer { return .mixedUp }
        if let code = AuthorizationTransaction.single("error", in: parameters) {
            let description = AuthorizationTransaction.single("error_description", in: parameters)
            return .refused(.refusal(OAuthError(code: code, description: description)))
        }
        guard let code = AuthorizationTransaction.single("code", in: parameters), !code.isEmpty,
            code.utf8.count <= AuthorizationTransaction.codeLimit,
            code.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return .malformed }
        return .code(code)
    }

    /// Looks at every byte, wherever the first difference is.
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
        RefreshFailure(kind: .misbehaved, message: "the authorization response makes no sense: log in again")
    )
    static let mixedUp = Self.refused(
        RefreshFailure(
            kind: .misbehaved,
            code: "issuer_mismatch",
            message: "the authorization response came from another issuer: log in again"
        )
    )
}

extension RefreshFailure {
    /// An error the authorization endpoint sent back through the browser (RFC 6749 §4.1.2.1).
    fileprivate static func refusal(_ error: OAuthError) -> RefreshFailure {
        let answer = TokenErrorResponse(status: 400, error: error)
        var failure = FailureClassification.classify(answer, from: "")
        failure.message = ServerText.cleaned("the server refused the login: \(error.text)")
        return failure
    }
}
