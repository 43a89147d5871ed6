// SPDX-License-Identifier: MIT

/// Which token is asked for, and how good it must be.
package struct TokenRequest: Equatable, Sendable {
    package var session: String
    /// Least life left; nil leaves it to the agent's configuration.
    package var minimumValidity: Duration?
    /// Longest wait for a refresh; nil leaves it to the agent's configuration, zero means not to wait.
    package var timeout: Duration?
    package var scopes: [String]
    package var audience: String?
    package var wantsIDToken: Bool
    /// Whether the caller tells the agent at once when the token is refused, and tries again.
    package var reportsRefusals: Bool
    /// Nil for a token without a proof.
    package var proof: TokenRequest.Proof?

    package init(
        session: String,
        minimumValidity: Duration? = nil,
        timeout: Duration? = nil,
        scopes: [String] = [],
        audience: String? = nil,
        wantsIDToken: Bool = false,
        reportsRefusals: Bool = false,
        proof: TokenRequest.Proof? = nil
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

    /// How long a client waits for the agent's answer: a little longer than the agent itself may wait.
    ///
    /// Without ``timeout`` the agent may wait an hour, the most that `get_timeout` can be set to.
    package var patience: Duration { (timeout ?? .seconds(3600)) + .seconds(5) }

    /// The longest wait for a silent agent: a second more than ``timeout``, or than the 30 s for which the agent itself waits
    /// for a refresh.
    ///
    /// Whoever needs a token is better off late than without one, on a machine where hundreds of programs start at once.
    package var maximumSilence: Duration {
        guard let timeout else { return .seconds(31) }
        return timeout > .zero ? timeout + .seconds(1) : AgentConnection.maximumSilence
    }

    /// The request for this token.
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
    /// Seconds, rounded up.
    fileprivate var wholeSeconds: String {
        let (seconds, attoseconds) = components
        return String(attoseconds > 0 ? seconds + 1 : seconds)
    }
}
