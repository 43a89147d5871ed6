// SPDX-License-Identifier: MIT

/// What is known of the conversation that client and server are in: the server's session, and how it was begun.
///
/// A server may end its session at any time, of which a client at standard input and output knows nothing. So the
/// messages that began it are kept, and begin the next one.
actor MCPSessionState {
    /// What the client said at the beginning.
    struct Opening: Sendable {
        var request: RPCPacket
        /// `notifications/initialized`, once it was sent.
        var announcement: RPCPacket?
    }

    private(set) var session = MCPSession.notBegun
    private var opening: Opening?
    private var renewal: Task<Result<MCPSession, RPCFailure>, Never>?
    private var listening: Task<Void, Never>?

    /// The client begins with `request`; what was before is over.
    func begin(_ request: RPCPacket) {
        listening?.cancel()
        listening = nil
        session = .notBegun
        opening = Opening(request: request)
    }

    /// The server has answered the beginning.
    func answered(_ new: MCPSession) {
        session = new
    }

    /// The client has said that it is ready: from now on the server may speak by itself, to `listener`.
    func announced(_ announcement: RPCPacket, _ listener: @escaping @Sendable (MCPSession) async -> Void) {
        opening?.announcement = announcement
        listen(listener)
    }

    /// The session to go on with where the server has ended `stale`: one for all requests that find it ended.
    ///
    /// - Parameters:
    ///   - stale: the session that a request was sent in.
    ///   - begin: begins another one with the server.
    ///   - listener: hears what the server says by itself in it.
    /// - Returns: the session that `begin` began, or the one that is there already.
    /// - Throws: why `begin` began none.
    func renewed(
        after stale: MCPSession,
        _ begin: @escaping @Sendable (Opening) async -> Result<MCPSession, RPCFailure>,
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

    /// Nothing more is listened to.
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
