// SPDX-License-Identifier: MIT

import Synchronization
import Text

/// A double of a Model Context Protocol server (2025-11-25, Streamable HTTP with sessions) that fails on
/// demand.
///
/// It accepts every bearer token except those it was told to reject. Its tool `echo` returns the argument
/// `text`. A test can add other tools.
package final class MCPDouble: Sendable {
    package typealias Tool = @Sendable (StreamingServer.Request, StreamingServer.Peer) -> Void

    private struct State {
        var sessions: [String] = []
        var begun = 0
        var refused: Set<String> = []
        var tools: [String: Tool] = [:]
        var listeners: [StreamingServer.Peer] = []
        var metadata = ""
        /// The response sent instead of the usual 401 of a rejection.
        var challenge: (status: Int, text: String)?
        var version = "2025-11-25"
        /// The response to a request with an unknown session.
        var unknownSession = (status: 404, body: MCPDouble.noSession)
    }

    package static let noSession =
        #"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no session"}}"#

    /// The server, set once when it listens.
    private let listening = Mutex<StreamingServer?>(nil)
    private let state = Mutex(State())

    package init() throws {
        let server = try StreamingServer { [weak self] request, peer in self?.answer(request, peer) }
        listening.withLock { $0 = server }
    }

    private var server: StreamingServer {
        guard let server = listening.withLock(\.self) else { preconditionFailure("it listens since init") }
        return server
    }

    package var port: Int { server.port }
    package var origin: String { "http://127.0.0.1:\(port)" }
    /// The URL of the protected resource.
    package var address: String { origin + "/mcp" }
    package var connections: Int { server.connections }

    /// The requests to the protocol's URL so far.
    package var requests: [StreamingServer.Request] { server.requests.filter { $0.target == "/mcp" } }

    /// Returns the requests so far with a message of this method.
    package func requests(_ method: String) -> [StreamingServer.Request] {
        requests.filter { $0.json?["method"]?.string == method }
    }

    /// Sets the authorization server in the protected resource's metadata (RFC 9728).
    package func names(issuer: String) {
        let document: JSONValue = [
            "resource": .string(address), "authorization_servers": [.string(issuer)],
            "scopes_supported": ["api"],
        ]
        state.withLock { $0.metadata = document.text }
    }

    /// Adds a tool, which sends the whole response to a request.
    package func add(_ name: String, _ tool: @escaping Tool) {
        state.withLock { $0.tools[name] = tool }
    }

    /// Rejects the token from now on.
    package func refuse(
        _ token: String,
        status: Int = 401,
        challenge: String = "Bearer error=\"invalid_token\""
    ) {
        state.withLock {
            $0.refused.insert(token)
            $0.challenge = (status, challenge)
        }
    }

    /// Ends all sessions, as after a restart, and sets the response to requests in them.
    package func forgetSessions(
        answering status: Int = 404,
        _ body: String = MCPDouble.noSession
    ) {
        state.withLock {
            $0.sessions = []
            $0.unknownSession = (status, body)
        }
    }

    /// Sets the protocol version in responses to `initialize`.
    package func speak(_ version: String) {
        state.withLock { $0.version = version }
    }

    /// The number of sessions begun so far, and of those still open.
    package var sessions: (begun: Int, open: Int) { state.withLock { ($0.begun, $0.sessions.count) } }

    /// The number of streams opened for the server's own messages.
    package var listeners: Int { state.withLock(\.listeners.count) }

    /// Sends a message on all streams for the server's own messages.
    package func tell(_ message: String, id: String? = nil) {
        for listener in state.withLock(\.listeners) { listener.event(message, id: id) }
    }

    /// Closes the streams for the server's own messages.
    package func leaveListeners() {
        for listener in state.withLock(\.listeners) { listener.leave() }
    }

    /// Returns the response to the request `id` with a text.
    package static func result(_ id: JSONValue?, _ text: String) -> String {
        let result: JSONValue = ["content": [["type": "text", "text": .string(text)]]]
        return (["jsonrpc": "2.0", "id": id ?? .null, "result": result] as JSONValue).text
    }

    private func answer(_ request: StreamingServer.Request, _ peer: StreamingServer.Peer) {
        guard request.target == "/mcp" else {
            return peer.answer(
                request.target.contains("protected-resource") ? 200 : 404,
                state.withLock(\.metadata)
            )
        }
        let (isRefused, challenge) = state.withLock { state in
            (request.token.map { state.refused.contains($0) } ?? true, state.challenge)
        }
        guard !isRefused else {
            let words = challenge?.text ?? "Bearer"
            let place = "\(origin)/.well-known/oauth-protected-resource/mcp"
            return peer.answer(
                challenge?.status ?? 401,
                fields: ["WWW-Authenticate: \(words), resource_metadata=\"\(place)\""]
            )
        }
        if request.method == "POST", request.json?["method"]?.string == "initialize" {
            return begin(request, peer)
        }
        let session = request.field("mcp-session-id") ?? ""
        guard state.withLock({ $0.sessions.contains(session) }) else {
            let (status, body) = state.withLock(\.unknownSession)
            return peer.answer(status, body)
        }
        switch request.method {
        case "POST": answerMessage(request, peer)
        case "GET":
            peer.beginStream()
            state.withLock { $0.listeners.append(peer) }
            peer.waitUntilLeft()
        default:
            state.withLock { $0.sessions.removeAll { $0 == session } }
            peer.answer(200)
        }
    }

    private func begin(_ request: StreamingServer.Request, _ peer: StreamingServer.Peer) {
        let (session, version) = state.withLock { state in
            state.begun += 1
            state.sessions.append("session-\(state.begun)")
            return ("session-\(state.begun)", state.version)
        }
        let result: JSONValue = [
            "protocolVersion": .string(version), "capabilities": ["tools": [:]],
            "serverInfo": ["name": "double", "version": "1"],
        ]
        let answer: JSONValue = ["jsonrpc": "2.0", "id": request.json?["id"] ?? .null, "result": result]
        peer.answer(200, answer.text, fields: ["Mcp-Session-Id: \(session)", "Mcp-Shard: 7"])
    }

    private func answerMessage(_ request: StreamingServer.Request, _ peer: StreamingServer.Peer) {
        let message = request.json ?? [:]
        guard let id = message["id"], message["method"] != nil else { return peer.answer(202) }
        let parameters = message["params"]?.object
        let name = parameters?["name"]?.string ?? ""
        if message["method"]?.string == "tools/call", let tool = state.withLock({ $0.tools[name] }) {
            return tool(request, peer)
        }
        peer.answer(200, MCPDouble.result(id, parameters?["arguments"]?.object?["text"]?.string ?? "nothing"))
    }
}
