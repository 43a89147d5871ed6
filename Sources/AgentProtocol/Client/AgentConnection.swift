// SPDX-License-Identifier: MIT

/// A blocking connection to the agent of this user.
///
/// ```swift
/// import AgentProtocol
///
/// var agent = try AgentConnection()
/// let token = try agent.token(of: "work", minimumValidity: .seconds(60))
/// print("Authorization: Bearer \(token.value)")
/// ```
///
/// Request the token again for every HTTP request instead of storing it: a valid token comes from the agent's
/// memory in microseconds. If an ``AgentError`` has the code `loginRequired`, show its message and its remedy
/// to the user. If the code is `temporarilyUnavailable`, try again after `retryAfter`.
///
/// A request to a silent agent fails: see ``maximumSilence``.
public struct AgentConnection: ~Copyable {
    /// The maximum time for an agent to accept a connection, read a request and begin its response: 5
    /// seconds.
    ///
    /// A request may wait longer for a refresh or the user. So halfway a second connection checks whether the
    /// agent is alive. While the agent answers there, the wait continues.
    public static let maximumSilence = Duration.seconds(5)
    /// The time between two such checks while a request waits.
    static let checkInterval = Duration.seconds(30)
    /// The maximum size of a response's body: 64 MiB, enough for the status of a hundred thousand sessions.
    static let maximumBodySize = 64 << 20

    let socket: ConnectedAgentSocket
    var decoder = ResponseDecoder()
    private let maximumSilence: Duration
    /// The part of ``maximumSilence`` that connecting has taken from the first request.
    private var timeToConnect: Duration

    /// The path of the socket to which the connection was made.
    public var path: String { socket.path }

    /// Connects to the agent and checks that it runs as this user.
    ///
    /// Without `path` the socket is that of the environment, see ``AgentPaths``. If no agent is there and
    /// `TOKENAGENT_SOCK` is not set, the socket in the lock file of this user's store is tried: its agent was
    /// started with another environment, such as that of cron.
    ///
    /// - Parameters:
    ///   - path: The only socket to try.
    ///   - maximumSilence: The limit for this connection instead of 5 seconds.
    /// - Throws: ``AgentError`` with the code `noAgent` if nothing is listening there, `denied` if the server
    ///   runs as another user, `misconfigured` if the path cannot be a socket's, `temporarilyUnavailable` if
    ///   the agent is silent.
    public init(
        socket path: String? = nil,
        maximumSilence: Duration = AgentConnection.maximumSilence
    ) throws(AgentError) {
        let start = Deadline.now
        socket =
            if let path {
                try ConnectedAgentSocket(at: path, maximumSilence)
            } else {
                try ConnectedAgentSocket(findingAgent: maximumSilence)
            }
        self.maximumSilence = maximumSilence
        timeToConnect = .nanoseconds(Deadline.now - start)
    }

    /// Sends a request and returns its response.
    ///
    /// A connection serves one request after the other. After an error, open a new one.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - timeout: The time limit of the whole response. Default: none, as a login may take long.
    ///   - maximumSilence: The time limit for its first byte without a sign of life. Default: that of the
    ///     connection.
    /// - Returns: The response, whose status is a success.
    /// - Throws: ``AgentError``, the agent's own or one about the connection: `noAgent` if it ended,
    ///   `temporarilyUnavailable` if the time is over or the agent is silent.
    public mutating func exchange(
        _ request: AgentRequest,
        timeout: Duration? = nil,
        maximumSilence: Duration? = nil
    ) throws(AgentError) -> AgentResponse {
        let response: AgentResponse
        do {
            let deadline = Deadline(after: timeout)
            try send(request)
            let head = try receiveHead(by: deadline, maximumSilence)
            response = try receiveBody(after: head, by: deadline)
        } catch {
            throw AgentError(error)
        }
        guard (200..<300).contains(response.status) else { throw AgentError(response) }
        return response
    }

    mutating func send(_ request: AgentRequest) throws(ConnectionFailure) {
        try unsafe socket.send(Array(request.head.utf8).span.bytes)
        if let body = request.body { try unsafe socket.send(body.span.bytes) }
    }

    mutating func receiveHead(
        by deadline: Deadline,
        _ maximumSilence: Duration? = nil
    ) throws(ConnectionFailure) -> ResponseHead {
        let part: ResponseDecoder.Part
        if let next = try decoder.next() {
            part = next
        } else {
            try waitForResponse(by: deadline, maximumSilence ?? self.maximumSilence)
            part = try nextPart(by: deadline)
        }
        guard case .head(let head) = part else { throw .malformed("no head") }
        return head
    }

    /// Waits until the response begins, or until `deadline` comes before the next check.
    ///
    /// - Throws: ``ConnectionFailure/silent(socket:limit:)`` if nothing shows that the agent is alive.
    private mutating func waitForResponse(
        by deadline: Deadline,
        _ maximumSilence: Duration
    ) throws(ConnectionFailure) {
        let half = max(.zero, maximumSilence - timeToConnect) / 2
        timeToConnect = .zero
        var isFirst = true
        while true {
            let check = Deadline(after: isFirst ? half : max(half, AgentConnection.checkInterval))
            guard check < deadline, try !socket.hasBytes(by: check) else { return }
            guard try socket.isAlive(within: half, of: maximumSilence) || isFirst else {
                throw .silent(socket: path, limit: maximumSilence)
            }
            isFirst = false
        }
    }

    mutating func receiveBody(
        after head: ResponseHead,
        by deadline: Deadline
    ) throws(ConnectionFailure) -> AgentResponse {
        var response = AgentResponse(status: head.status, retryAfter: head.retryAfter, body: [])
        while case .body(let bytes) = try nextPart(by: deadline) {
            guard response.body.count + bytes.count <= AgentConnection.maximumBodySize else {
                throw .malformed("too long")
            }
            response.body.append(contentsOf: bytes)
        }
        return response
    }

    mutating func nextPart(by deadline: Deadline) throws(ConnectionFailure) -> ResponseDecoder.Part {
        while true {
            if let part = try decoder.next() { return part }
            guard try socket.receive(into: &decoder, by: deadline) else { return try decoder.finish() }
        }
    }
}
