// SPDX-License-Identifier: MIT

/// One complete answer of the agent.
public struct AgentResponse: Equatable, Sendable {
    /// The HTTP status, 200 for success.
    public var status: Int
    /// Seconds of the `Retry-After` header, if there is one (RFC 9110 §10.2.3).
    public var retryAfter: Duration?
    /// The body without its framing: JSON, or the bare text that was asked for.
    public var body: [UInt8]

    package init(status: Int, retryAfter: Duration? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}
