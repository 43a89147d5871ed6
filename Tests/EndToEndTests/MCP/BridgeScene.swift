// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing
import Text

/// A double of an MCP server that takes tokens of an issuer, and an agent whose session `work` is for it, logged in.
struct BridgeScene {
    let server: MCPDouble
    let scene: Scene
    var agent: AgentUnderTest { scene.agent }
    var issuer: DemoIssuer { scene.issuer }
    /// The number of requests during the login, which reads the server's requirements without a token.
    private var requestsOfLogin = 0
    /// The requests to the server since the login.
    var requests: [StreamingServer.Request] { Array(server.requests.dropFirst(requestsOfLogin)) }

    /// - Parameters:
    ///   - session: more keys of the session.
    ///   - settings: changes the issuer.
    /// - Throws: the error if the server, the issuer or the agent cannot be started.
    init(session: String = "", _ settings: (inout IssuerSettings) -> Void = { _ in }) async throws {
        server = try MCPDouble()
        scene = try await Scene(settings)
        server.names(issuer: scene.issuer.issuer)
        try agent.configure(
            """
            [session.work]
            resource = "\(server.address)"
            client_id = "demo-public"
            scopes = ["openid", "offline_access", "api"]
            \(session)

            """
        )
        try await agent.start()
        let login = try await agent.tokenctl("login", "work")
        try #require(login.status == 0, "\(login) \(agent.log)")
        requestsOfLogin = server.requests.count
    }

    /// The input of a client that opens a session and calls `echo` once.
    static let conversation = """
        {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
        {"jsonrpc":"2.0","method":"notifications/initialized"}
        {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}

        """

    /// Runs a client that writes all its input and then closes it.
    func converse() async throws -> ProgramResult {
        try await agent.tokenctl(["mcp", "connect", server.address], input: BridgeScene.conversation)
    }

    /// Starts a client whose input stays open.
    func open() throws -> OpenClient { try OpenClient(agent, server.address) }
}

/// A `tokenctl mcp connect` whose input stays open.
final class OpenClient: Sendable {
    let program: Program
    private let input: Int32

    init(_ agent: AgentUnderTest, _ address: String, options: String = "") throws {
        let path = agent.home.path("client-\(Int.random(in: 0..<Int.max))")
        try #require(mkfifo(path, 0o600) == 0)
        // Open at both ends, so that the test decides when the input ends.
        input = Glibc.open(path, O_RDWR | O_CLOEXEC)
        try #require(input >= 0)
        program = try Program(
            ["/bin/sh", "-c", "exec tokenctl mcp connect \(options) '\(address)' <'\(path)'"],
            environment: agent.environment,
            hasTerminal: false
        )
    }

    deinit {
        close(input)
    }

    /// Sends a line.
    func send(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
    }

    /// Waits for the response to the request `id`, and returns it.
    func answer(_ id: Int) async throws -> JSONObject {
        let line = try await program.outputLine(containing: "\"id\":\(id),", within: .seconds(30))
        return try #require(try JSONValue(parsing: line.utf8).object)
    }

    /// Opens a session.
    func begin() async throws {
        for line in BridgeScene.conversation.split(separator: "\n").prefix(2) { send(String(line)) }
        let answer = try await answer(0)
        try #require(answer["result"] != nil, "\(answer)")
    }

    /// Calls `echo` and returns the text of the response, or the error.
    func call(_ id: Int, _ text: String) async throws -> String? {
        send(
            #"{"jsonrpc":"2.0","id":\#(id),"method":"tools/call","params":{"name":"echo","arguments":{"text":"\#(text)"}}}"#
        )
        let answer = try await answer(id)
        return answer["error"]?.object?["message"]?.string
            ?? answer["result"]?.object?["content"]?.array?.first?.object?["text"]?.string
    }
}
