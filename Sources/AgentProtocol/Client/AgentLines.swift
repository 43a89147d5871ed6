// SPDX-License-Identifier: MIT

/// The lines of a streamed response: progress of a login, or events (NDJSON, one JSON object per line).
///
/// ```swift
/// var events = try AgentConnection().lines(of: AgentRequest(.get, "events"))
/// while let line = try events.next() { print(String(decoding: line, as: UTF8.self)) }
/// ```
///
/// When the value is dropped, the connection closes, which cancels a login.
public struct AgentLines: ~Copyable {
    /// The maximum length of a line: 1 MiB.
    static let maximumLineLength = 1 << 20

    private var connection: AgentConnection
    private var pending: [UInt8] = []
    private var hasEnded = false

    init(_ connection: consuming AgentConnection) {
        self.connection = connection
    }

    /// The descriptor that becomes readable when bytes arrive.
    ///
    /// A line may already be in memory as well.
    package var descriptor: Int32 { connection.socket.descriptor }

    /// Waits for the next line that is not empty.
    ///
    /// - Parameter timeout: The time limit. Default: none.
    /// - Returns: The line without its line feed, or `nil` at the end of the response.
    /// - Throws: ``AgentError`` with the code `noAgent` if the agent ended in the middle,
    ///   `temporarilyUnavailable` if the time is over. After the latter the caller may continue to wait.
    public mutating func next(timeout: Duration? = nil) throws(AgentError) -> [UInt8]? {
        let deadline = Deadline(after: timeout)
        do {
            while true {
                if let line = takeLine() {
                    if !line.isEmpty { return line }
                } else if hasEnded {
                    return nil
                } else {
                    try receive(by: deadline)
                }
            }
        } catch {
            throw AgentError(error)
        }
    }

    private mutating func takeLine() -> [UInt8]? {
        guard let newline = pending.firstIndex(of: 0x0A) else { return nil }
        defer { pending.removeFirst(newline + 1) }
        return Array(pending[..<newline])
    }

    private mutating func receive(by deadline: Deadline) throws(ConnectionFailure) {
        switch try connection.nextPart(by: deadline) {
        case .head: throw .malformed("a second head")
        case .body(let bytes):
            pending.append(contentsOf: bytes)
            guard pending.count <= AgentLines.maximumLineLength else { throw .malformed("endless line") }
        case .end:
            hasEnded = true
            guard pending.isEmpty else { throw .closed }
        }
    }
}

extension AgentConnection {
    /// Sends a request whose response is a stream of lines, and passes the connection to that stream.
    ///
    /// - Throws: ``AgentError``, the agent's own if it rejects the request.
    public consuming func lines(of request: AgentRequest) throws(AgentError) -> AgentLines {
        var refusal: AgentResponse?
        do {
            try send(request)
            let head = try receiveHead(by: .none)
            if !(200..<300).contains(head.status) {
                refusal = try receiveBody(after: head, by: .none)
            }
        } catch {
            throw AgentError(error)
        }
        if let refusal { throw AgentError(refusal) }
        return AgentLines(self)
    }
}
