// SPDX-License-Identifier: MIT

import Text

/// A token from the agent.
public struct AgentToken: Equatable, Sendable {
    /// The name of the session that the token belongs to.
    public var session: String
    /// The access token, or the ID token if that was requested.
    public var value: String
    /// The token type, usually `Bearer` (RFC 6749 §7.1).
    public var type: String
    /// The expiry in seconds since 1970, UTC, or `nil` if the token is valid until a server rejects it.
    public var expiresAt: Int64?
    /// The remaining validity in seconds when the agent sent the token.
    public var expiresIn: Int64?
    /// The granted scopes.
    public var scopes: [String]
    /// The proof of possession for the HTTP request named in the token request (RFC 9449 §4).
    package var proof: String?

    /// Parses the response's JSON.
    ///
    /// - Throws: ``AgentError`` if it contains no usable token.
    package init(parsing body: [UInt8]) throws(AgentError) {
        guard let message = TokenMessage(parsing: body),
            let value = message.accessToken ?? message.idToken,
            value.utf8.isVisibleWord
        else { throw AgentError(.malformed("no token")) }
        proof = message.proof
        guard proof?.utf8.isVisibleWord != false else {
            throw AgentError(.malformed("no proof of possession"))
        }
        self.value = value
        expiresAt = message.expiresAt
        session = message.session ?? ""
        type = message.tokenType ?? "Bearer"
        expiresIn = message.expiresIn
        scopes = message.scope?.bytewise.split(on: " ").map(String.init) ?? []
    }

    /// Whether the token requires a proof for each HTTP request (RFC 9449 §7.1).
    package var isBoundToKey: Bool { type.lowercased() == "dpop" }
}

extension AgentConnection {
    /// Returns a token of a session, after a refresh if the current one is not valid for long enough.
    ///
    /// - Parameters:
    ///   - session: The session's name in the configuration.
    ///   - minimumValidity: The minimum remaining validity. Default: the agent's configuration.
    ///   - timeout: The maximum wait for a refresh. Default: the agent's configuration.
    ///   - scopes: The scopes of the token, if they differ from the session's.
    ///   - audience: The audience of the token, if it differs from the session's.
    /// - Returns: A token with at least that remaining validity.
    /// - Throws: ``AgentError`` with the code `loginRequired` and a remedy if the session has ended.
    public mutating func token(
        of session: String,
        minimumValidity: Duration? = nil,
        timeout: Duration? = nil,
        scopes: [String] = [],
        audience: String? = nil
    ) throws(AgentError) -> AgentToken {
        let tokenRequest = TokenRequest(
            session: session,
            minimumValidity: minimumValidity,
            timeout: timeout,
            scopes: scopes,
            audience: audience
        )
        return try token(tokenRequest)
    }

    /// Returns the token that `tokenRequest` describes.
    ///
    /// - Throws: ``AgentError``, with the code `internal` if the token contains anything but visible ASCII.
    package mutating func token(_ tokenRequest: TokenRequest) throws(AgentError) -> AgentToken {
        let answer = try exchange(tokenRequest, plainText: false)
        return try AgentToken(parsing: answer.body)
    }

    /// Sends the request that `tokenRequest` describes, for JSON or plain text.
    ///
    /// - Throws: ``AgentError`` as ``exchange(_:timeout:maximumSilence:)`` does.
    package mutating func exchange(
        _ tokenRequest: TokenRequest,
        plainText: Bool
    ) throws(AgentError) -> AgentResponse {
        try exchange(
            tokenRequest.request(plainText: plainText),
            timeout: tokenRequest.responseTimeout,
            maximumSilence: tokenRequest.maximumSilence
        )
    }
}
