// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// The tokens one request is sent with: the first, and others as long as the server's answers call for them.
///
/// A token that is bound to a key comes with a proof each time.
struct CurlTokens {
    private let endpoint: AgentEndpoint
    private var demand: TokenRequest
    /// What the next attempt is made with.
    private(set) var current: AgentToken
    /// Whether it is for certain what the server has seen.
    private let isSeen: Bool
    private var wasReplaced = false
    private var hasTakenNonce = false

    /// Gets the first one.
    ///
    /// - Throws: ``AgentError``, `badRequest` if it needs a proof and `arguments` do not tell for which request.
    init(
        _ demand: TokenRequest,
        for arguments: CurlArguments,
        from endpoint: AgentEndpoint
    ) throws(AgentError) {
        var agent = try endpoint.waiting(as: demand).connect()
        self.endpoint = endpoint
        self.demand = demand
        isSeen = !arguments.mayReplaceToken
        current = try WaitNotice.whileWaiting(isRefused: false) { () throws(AgentError) in
            try agent.token(demand)
        }
        guard current.isBoundToKey else { return }
        self.demand.proof = try arguments.target.proof(session: demand.session)
        try renew()
    }

    /// Looks at the refusal that `attempt` may have got; false if nothing else is to be tried.
    ///
    /// The agent is told of a refusal even where the output has gone out already, so that the next request heals.
    /// If the agent fails for any reason but the end of the session, the server's answer is let through.
    ///
    /// - Throws: ``AgentError`` with the code `loginRequired` when the session is over.
    mutating func advance(after attempt: inout CurlAttempt) throws(AgentError) -> Bool {
        guard let refusal = attempt.refusal else { return false }
        do {
            if demand.proof != nil, attempt.answer.nonce != nil {
                demand.proof?.nonce = attempt.answer.nonce
                if attempt.answer.wantsNonce {
                    guard attempt.isRepeatable else { return false }
                    return try takeNonce()
                }
            }
            return try replace(after: attempt, refusal)
        } catch {
            guard error.code != .loginRequired else { throw error }
            attempt.pass()
            StandardError.write("tokenctl: \(FailureReport.line(for: error.about(demand.session)))\n")
            return false
        }
    }

    /// Makes a proof with the nonce, once: the token itself was not refused, and the agent has nothing to judge.
    private mutating func takeNonce() throws(AgentError) -> Bool {
        guard !hasTakenNonce else { return false }
        hasTakenNonce = true
        try renew()
        return true
    }

    /// Tells the agent what the server said, and takes the token that it gives instead, once.
    private mutating func replace(
        after attempt: borrowing CurlAttempt,
        _ refusal: CurlResponse.Refusal
    ) throws(AgentError) -> Bool {
        guard isSeen else { return false }
        let report = RefusalReport(
            status: refusal.status,
            challenge: refusal.challenge,
            body: attempt.refusedBody(),
            place: attempt.server.place
        )
        // The agent keeps refreshes apart where a server refuses one new token after the other.
        let replacement = try WaitNotice.whileWaiting(isRefused: true) { () throws(AgentError) in
            try report.send(current, to: endpoint, about: demand)
        }
        guard let fresh = replacement, attempt.isRepeatable, !wasReplaced else { return false }
        wasReplaced = true
        current = fresh
        if demand.proof != nil { try renew() }
        return true
    }

    /// Gets token and proof together: the proof is for exactly this token.
    private mutating func renew() throws(AgentError) {
        var agent = try endpoint.waiting(as: demand).connect()
        current = try agent.token(demand)
        guard current.proof != nil else {
            throw AgentError(.internal, "the agent's answer holds no proof of possession")
        }
    }
}
