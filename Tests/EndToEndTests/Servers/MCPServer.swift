// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// The MCP server of the official Python SDK behind an authorization server that registers clients.
///
/// Its packages are fetched once for a suite; each test starts it in the shape it needs.
struct MCPServer: SuiteTrait, TestScoping {
    /// A server that a test has started.
    struct Running: Sendable {
        let work: TemporaryDirectory
        let state: JSONObject

        var statePath: String { work.path("mcp/state.json") }
        /// The protected resource.
        var resource: String { state["mcp_url"]?.string ?? "" }
        var issuer: String { state["issuer"]?.string ?? "" }
        /// The certificate of its authority, under TLS.
        var authority: String? { state["ca"]?.string }

        /// Sends a control command to the server, such as `forget-clients`.
        func pull(_ lever: String...) async throws {
            let pulled = try await MCPServer.script.run([work.path, "lever"] + lever)
            try #require(pulled.status == 0, "\(pulled)")
        }

        /// Returns the requests to addresses that end in `path`, without secrets.
        func requests(to path: String) throws -> [JSONObject] {
            let text = File.text(state["requests"]?.string ?? "") ?? ""
            return try text.split(separator: "\n").compactMap { line in
                let request = try JSONValue(parsing: line.utf8).object
                return request?["path"]?.string?.hasSuffix("/\(path)") == true ? request : nil
            }
        }

        /// Returns the parameter `name` of every form and query sent to `path`, or `nil` for those without it.
        func parameters(_ name: String, to path: String) throws -> [String?] {
            try requests(to: path).map { $0["params"]?.object?[name]?.string }
        }

        /// The secrets of the clients that it has registered.
        var clientSecrets: [String] {
            let store = File.text(work.path("mcp/store.json")).flatMap {
                try? JSONValue(parsing: $0.utf8).object
            }
            let clients = store?["clients"]?.object ?? JSONObject()
            return clients.members.filter { !$0.name.hasPrefix("tokenagent-") }
                .compactMap { $0.value.object?["client_secret"]?.string }
        }
    }

    fileprivate static let script = ProviderScript("mcp_server.py")

    static var isAvailable: Bool { TestEnvironment.isFull && script.isAvailable }

    @TaskLocal private static var work: TemporaryDirectory?

    /// Starts the server with `options`, knowing nobody, in place of the one before.
    static func start(_ options: String...) async throws -> Running { try await start(options) }

    /// Starts the server with `options`, knowing nobody, in place of the one before.
    static func start(_ options: [String]) async throws -> Running {
        guard let work else { throw ProviderScript.Failure.notRunning }
        try await script.run([work.path, "stop"])
        let state = try await script.start(in: work, ["--fresh"] + options)
        return Running(work: work, state: state)
    }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await MCPServer.script.whileRunning { work, _ in
            try await MCPServer.$work.withValue(work, operation: function)
        }
    }
}

extension Trait where Self == MCPServer {
    static var mcpServer: Self { MCPServer() }
}

/// An agent whose sessions are configured only with the address of the MCP server.
struct MCPScene: WalkedLogin {
    let server: MCPServer.Running
    let agent: AgentUnderTest

    /// - Parameters:
    ///   - server: as the test has started it.
    ///   - sessions: their names.
    ///   - more: further keys of each session.
    ///   - pages: the file with the state of the server whose pages a login leads to, if it is another one.
    /// - Throws: what the agent's start throws.
    init(
        _ server: MCPServer.Running,
        sessions: [String] = ["work"],
        more: String = "",
        pages: String? = nil
    ) async throws {
        self.server = server
        let trust = server.authority.map { "ca_file = \"\($0)\"" } ?? ""
        let tables = sessions.map { name in
            """
            [session.\(name)]
            kind = "oidc"
            resource = "\(server.resource)"
            \(trust)
            \(more)

            """
        }
        agent = try AgentUnderTest(
            configuration: "[agent]\nget_timeout = \"5s\"\n" + tables.joined(separator: "\n")
        )
        try ProviderScript.writeBrowser(of: agent, for: pages ?? server.statePath)
        try await agent.start()
    }

    /// Has the server run a tool, as a user would with curl.
    func call(_ tool: String) async throws -> ProgramResult {
        let call: JSONValue = [
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": ["name": .string(tool), "arguments": [:]],
        ]
        let trust = server.authority.map { ["--cacert", $0] } ?? []
        return try await agent.tokenctl(
            ["curl", "work", "--", "-s"] + trust + [
                "-H", "Accept: application/json, text/event-stream", "-H", "Content-Type: application/json",
                "-d", call.text, server.resource,
            ]
        )
    }

    /// The scopes of the present token, as `status` shows them.
    func grantedScopes() async throws -> Set<String> {
        Set(try await agent.status("work")["scope"]?.array?.compactMap(\.string) ?? [])
    }
}
