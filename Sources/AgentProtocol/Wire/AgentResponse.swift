// SPDX-License-Identifier: MIT

/// A complete response of the agent.
public struct AgentResponse: Equatable, Sendable {
    /// The HTTP status, 200 for success.
    public var status: Int
    /// The delay in seconds from the `Retry-After` header, or `nil` if there is none (RFC 9110 §10.2.3).
    public var retryAfter: Duration?
    /// The body without its framing: JSON, or the requested bare text.
    public var body: [UInt8]

    package init(status: Int, retryAfter: Duration? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}
