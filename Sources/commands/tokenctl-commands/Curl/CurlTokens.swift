// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// The tokens for one request: the first, and replacements while the server's responses require them.
///
/// A token that is bound to a key comes with a new proof each time.
struct CurlTokens {
    private let endpoint: AgentEndpoint
    private var tokenRequest: TokenRequest
    /// The token for the next attempt.
    private(set) var current: AgentToken
    /// Whether the server has certainly received this token.
    private let isSeen: Bool
    private var wasReplaced = false
    private var hasTakenNonce = false

    /// Obtains the first token.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the token needs a proof and `arguments` do
    ///   not identify the request.
    init(
        _ tokenRequest: TokenRequest,
        for arguments: CurlArguments,
        from endpoint: AgentEndpoint
    ) throws(AgentError) {
        var agent = try endpoint.waiting(as: tokenRequest).connect()
        self.endpoint = endpoint
        self.tokenRequest = tokenRequest
        isSeen = !arguments.mayReplaceToken
        current = try WaitNotice.during(.token) { () throws(AgentError) in
            try agent.token(tokenRequest)
        }
        guard current.isBoundToKey else { return }
        self.tokenRequest.proof = try arguments.target.proof(session: tokenRequest.session)
        try renew()
    }

    /// Handles a rejection that `attempt` may have received.
    ///
    /// A rejection is reported to the agent even if the output was already released, so that the next request
    /// succeeds. If the agent fails for a reason other than the end of the session, the server's response is
    /// released.
    ///
    /// - Parameter attempt: The last run of curl.
    /// - Returns: Whether to run curl again.
    /// - Throws: ``AgentError`` with the code `loginRequired` if the session has ended.
    mutating func advance(after attempt: inout CurlAttempt) throws(AgentError) -> Bool {
        guard let refusal = attempt.refusal else { return false }
        do {
            if tokenRequest.proof != nil, attempt.answer.nonce != nil {
                tokenRequest.proof?.nonce = attempt.answer.nonce
                if attempt.answer.wantsNonce {
                    guard attempt.isRepeatable else { return false }
                    return try takeNonce()
                }
            }
            return try replace(after: attempt, refusal)
        } catch {
            guard error.code != .loginRequired else { throw error }
            attempt.pass()
            FailureReport.tell(error.about(tokenRequest.session))
            return false
        }
    }

    /// Obtains a proof with the nonce, once; the token itself was not rejected, so nothing is reported.
    private mutating func takeNonce() throws(AgentError) -> Bool {
        guard !hasTakenNonce else { return false }
        hasTakenNonce = true
        try renew()
        return true
    }

    /// Reports the rejection to the agent and uses the token from its response, once.
    private mutating func replace(
        after attempt: borrowing CurlAttempt,
        _ refusal: CurlResponseParser.Refusal
    ) throws(AgentError) -> Bool {
        guard isSeen else { return false }
        let report = TokenRejectionReport(
            status: refusal.status,
            challenge: refusal.challenge,
            body: attempt.refusedBody(),
            place: attempt.server.place
        )
        // The agent spaces out refreshes if a server rejects one new token after the other.
        let replacement = try WaitNotice.during(.replacement) { () throws(AgentError) in
            try report.send(current, to: endpoint, about: tokenRequest)
        }
        guard let fresh = replacement, attempt.isRepeatable, !wasReplaced else { return false }
        wasReplaced = true
        current = fresh
        if tokenRequest.proof != nil { try renew() }
        return true
    }

    /// Obtains token and proof together, because the proof is only for this token.
    private mutating func renew() throws(AgentError) {
        var agent = try endpoint.waiting(as: tokenRequest).connect()
        current = try agent.token(tokenRequest)
        guard current.proof != nil else {
            throw AgentError(.internal, "the agent's response contains no proof of possession")
        }
    }
}
