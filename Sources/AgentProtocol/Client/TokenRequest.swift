// SPDX-License-Identifier: MIT

/// A request for a token, with the requirements that the token must satisfy.
package struct TokenRequest: Equatable, Sendable {
    package var session: String
    /// The minimum remaining validity, or `nil` for that of the agent's configuration.
    package var minimumValidity: Duration?
    /// The maximum wait for a refresh, or `nil` for that of the agent's configuration.
    ///
    /// Zero means not to wait.
    package var timeout: Duration?
    package var scopes: [String]
    package var audience: String?
    package var wantsIDToken: Bool
    /// Whether the client reports a rejection of the token at once, and tries again.
    package var reportsRefusals: Bool
    /// The HTTP request to prove, or `nil` for a token without a proof.
    package var proof: TokenRequest.ProofTarget?

    package init(
        session: String,
        minimumValidity: Duration? = nil,
        timeout: Duration? = nil,
        scopes: [String] = [],
        audience: String? = nil,
        wantsIDToken: Bool = false,
        reportsRefusals: Bool = false,
        proof: TokenRequest.ProofTarget? = nil
    ) {
        self.session = session
        self.minimumValidity = minimumValidity
        self.timeout = timeout
        self.scopes = scopes
        self.audience = audience
        self.wantsIDToken = wantsIDToken
        self.reportsRefusals = reportsRefusals
        self.proof = proof
    }

    /// The time limit for the agent's response: a little longer than the agent itself may wait.
    ///
    /// Without ``timeout`` the agent may wait an hour, the maximum of `get_timeout`.
    package var responseTimeout: Duration { (timeout ?? .seconds(3600)) + .seconds(5) }

    /// The maximum silence of the agent: a second more than ``timeout``, or than the agent's default of 30
    /// seconds for a refresh.
    ///
    /// A late token is better than none, on a machine where hundreds of programs start at once.
    package var maximumSilence: Duration {
        guard let timeout else { return .seconds(31) }
        return timeout > .zero ? timeout + .seconds(1) : AgentConnection.maximumSilence
    }

    /// Returns the HTTP request for this token.
    package func request(plainText: Bool) -> AgentRequest {
        var query: [(name: String, value: String)] = []
        if let minimumValidity { query.append(("min_valid", minimumValidity.wholeSeconds)) }
        if let timeout { query.append(("timeout", timeout.wholeSeconds)) }
        if !scopes.isEmpty { query.append(("scope", scopes.joined(separator: " "))) }
        if let audience { query.append(("audience", audience)) }
        if wantsIDToken { query.append(("kind", "id")) }
        if reportsRefusals { query.append(("reports", "true")) }
        if let proof { query += proof.query }
        return AgentRequest(.get, "sessions", session, "token", query: query, wantsPlainText: plainText)
    }
}

extension Duration {
    /// The duration in seconds, rounded up.
    fileprivate var wholeSeconds: String {
        let (seconds, attoseconds) = components
        return String(attoseconds > 0 ? seconds + 1 : seconds)
    }
}
