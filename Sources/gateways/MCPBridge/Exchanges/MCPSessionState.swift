// SPDX-License-Identifier: MIT

/// The state of the server's session, with the client messages that began it.
///
/// A server may end its session at any time, which a client on standard input and output cannot learn.
/// Therefore the messages that began a session are kept, and begin the next one.
actor MCPSessionState {
    /// The client messages that begin a session.
    struct OpeningMessages: Sendable {
        var request: RPCPacket
        /// The message `notifications/initialized`, once it was sent.
        var announcement: RPCPacket?
    }

    private(set) var session = MCPSession.notBegun
    private var opening: OpeningMessages?
    private var renewal: Task<Result<MCPSession, RPCFailure>, Never>?
    private var listening: Task<Void, Never>?

    /// Records the client's opening, and discards the previous session.
    func begin(_ request: RPCPacket) {
        listening?.cancel()
        listening = nil
        session = .notBegun
        opening = OpeningMessages(request: request)
    }

    /// Records the session of the server's response to the opening.
    func answered(_ new: MCPSession) {
        session = new
    }

    /// Records that the client is ready, and starts `listener` for messages that the server sends unasked.
    func announced(_ announcement: RPCPacket, _ listener: @escaping @Sendable (MCPSession) async -> Void) {
        opening?.announcement = announcement
        listen(listener)
    }

    /// Returns the session that replaces `stale`, which the server has ended.
    ///
    /// All requests that find `stale` ended share one new session.
    ///
    /// - Parameters:
    ///   - stale: the session in which a request was sent.
    ///   - begin: begins another session with the server.
    ///   - listener: receives messages that the server sends unasked in the new session.
    /// - Returns: the session that `begin` began, or one that has already replaced `stale`.
    /// - Throws: the error of `begin`.
    func renewed(
        after stale: MCPSession,
        _ begin: @escaping @Sendable (OpeningMessages) async -> Result<MCPSession, RPCFailure>,
        _ listener: @escaping @Sendable (MCPSession) async -> Void
    ) async throws(RPCFailure) -> MCPSession {
        guard session == stale else { return session }
        guard let opening else {
            throw RPCFailure(.failed, "the server ended the session before it began")
        }
        let isFirst = renewal == nil
        let task = renewal ?? Task { await begin(opening) }
        renewal = task
        let result = await task.value
        if isFirst {
            renewal = nil
            if case .success(let new) = result, session == stale {
                session = new
                if opening.announcement != nil { listen(listener) }
            }
        }
        return try result.get()
    }

    /// Stops listening.
    func end() {
        listening?.cancel()
        listening = nil
    }

    private func listen(_ listener: @escaping @Sendable (MCPSession) async -> Void) {
        listening?.cancel()
        let session = session
        listening = Task { await listener(session) }
    }
}
