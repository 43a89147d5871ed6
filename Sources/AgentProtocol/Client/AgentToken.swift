// SPDX-License-Identifier: MIT

import Text

/// A token as the agent hands it out.
public struct AgentToken: Equatable, Sendable {
    /// The session it belongs to.
    public var session: String
    /// The access token, or the ID token if that was asked for.
    public var value: String
    /// How to present it, usually `Bearer` (RFC 6749 §7.1).
    public var type: String
    /// When it expires: seconds since 1970, UTC; nil if it is good until a server refuses it.
    public var expiresAt: Int64?
    /// Seconds of life left when it was handed out.
    public var expiresIn: Int64?
    /// The granted scopes.
    public var scopes: [String]
    /// The proof of possession, for the request that was named when asking for it (RFC 9449 §4).
    package var proof: String?

    /// Reads the answer's JSON.
    package init(parsing body: [UInt8]) throws(AgentError) {
        guard let message = TokenMessage(parsing: body),
            let value = message.accessToken ?? message.idToken,
            value.utf8.isVisibleWord
        else { throw AgentError(.malformed("no token in it")) }
        proof = message.proof
        guard proof?.utf8.isVisibleWord != false else {
            throw AgentError(.malformed("no proof of possession in it"))
        }
        self.value = value
        expiresAt = message.expiresAt
        session = message.session ?? ""
        type = message.tokenType ?? "Bearer"
        expiresIn = message.expiresIn
        scopes = message.scope?.bytewise.split(on: " ").map(String.init) ?? []
    }

    /// Whether it is useless without a proof for each request (RFC 9449 §7.1).
    package var isBoundToKey: Bool { type.lowercased() == "dpop" }
}

extension AgentConnection {
    /// Asks for a token of a session, waiting for a refresh if the present one is too old.
    ///
    /// - Parameters:
    ///   - session: the name the configuration gives it.
    ///   - minimumValidity: least life the token must have left. Default: what the agent's configuration says.
    ///   - timeout: longest wait for a refresh. Default: what the agent's configuration says.
    ///   - scopes: scopes of the token, if they differ from the session's.
    ///   - audience: audience of the token, if it differs from the session's.
    /// - Returns: a token with at least that much life left.
    /// - Throws: ``AgentError``: `loginRequired` and a remedy when the session is over.
    public mutating func token(
        of session: String,
        minimumValidity: Duration? = nil,
        timeout: Duration? = nil,
        scopes: [String] = [],
        audience: String? = nil
    ) throws(AgentError) -> AgentToken {
        let demand = TokenRequest(
            session: session,
            minimumValidity: minimumValidity,
            timeout: timeout,
            scopes: scopes,
            audience: audience
        )
        return try token(demand)
    }

    /// Asks for the token that `demand` describes.
    ///
    /// - Throws: ``AgentError``, `internal` also if the token holds anything but visible ASCII.
    package mutating func token(_ demand: TokenRequest) throws(AgentError) -> AgentToken {
        let answer = try exchange(demand, plainText: false)
        return try AgentToken(parsing: answer.body)
    }

    /// Asks for the token that `demand` describes, as JSON or as plain text.
    package mutating func exchange(
        _ demand: TokenRequest,
        plainText: Bool
    ) throws(AgentError) -> AgentResponse {
        try exchange(
            demand.request(plainText: plainText),
            timeout: demand.patience,
            maximumSilence: demand.maximumSilence
        )
    }
}
