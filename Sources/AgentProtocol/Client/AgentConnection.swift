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
/// Ask again for every request you make instead of keeping the token: a token that is still good comes from
/// the agent's memory in microseconds. When an ``AgentError`` has the code `loginRequired`, show its message and
/// its remedy to the person; when it is `temporarilyUnavailable`, try again after `retryAfter`.
public struct AgentConnection: ~Copyable {
    /// Longest wait for the agent to accept a connection and to take a request.
    ///
    /// 5 s, far longer than a running agent needs.
    public static let connectTimeout = Duration.seconds(5)
    /// Most bytes collected of one answer: 64 MiB, enough for the status of a hundred thousand sessions.
    static let largestBody = 64 << 20

    let socket: AgentSocket
    var decoder = ResponseDecoder()

    /// Connects to the agent and checks that it runs as this user.
    ///
    /// - Parameter path: the socket. Default: what the environment says, see ``AgentPaths``.
    /// - Throws: ``AgentError`` with the code `noAgent` if nothing answers there, `denied` if the server runs
    ///   as another user, `misconfigured` if the path cannot be a socket's.
    public init(socket path: String? = nil) throws(AgentError) {
        let path = if let path { path } else { try AgentPaths.socket() }
        try AgentPaths.checkSocketPath(path)
        do {
            socket = try AgentSocket(path: path, timeout: AgentConnection.connectTimeout)
        } catch {
            throw AgentError(error)
        }
    }

    /// Sends a request and collects its answer.
    ///
    /// A connection serves one request after the other. After an error, open a new one.
    ///
    /// - Parameters:
    ///   - request: what to ask.
    ///   - timeout: how long to wait for the whole answer. Default: for ever, as a login may take.
    /// - Returns: the answer, whose status is a success.
    /// - Throws: ``AgentError``, the agent's own or one about the connection: `noAgent` if it ended,
    ///   `temporarilyUnavailable` if the time is over.
    public mutating func exchange(
        _ request: AgentRequest,
        timeout: Duration? = nil
    ) throws(AgentError) -> AgentResponse {
        let response: AgentResponse
        do {
            let deadline = Deadline(after: timeout)
            try send(request)
            let head = try receiveHead(by: deadline)
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

    mutating func receiveHead(by deadline: Deadline) throws(ConnectionFailure) -> ResponseHead {
        guard case .head(let head) = try nextPart(by: deadline) else { throw .malformed("no head") }
        return head
    }

    mutating func receiveBody(
        after head: ResponseHead,
        by deadline: Deadline
    ) throws(ConnectionFailure) -> AgentResponse {
        var response = AgentResponse(status: head.status, retryAfter: head.retryAfter, body: [])
        while case .body(let bytes) = try nextPart(by: deadline) {
            guard response.body.count + bytes.count <= AgentConnection.largestBody else {
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
