// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isOff: Comment =
    "takes half a minute and PyPI; set TOKENAGENT_TEST_FULL=1, and TOKENAGENT_IDP_DIR to the directory of its script"

extension EndToEnd {
    /// The identity assertion grant of the official MCP SDK, whose server takes each assertion once
    /// (draft-ietf-oauth-identity-assertion-authz-grant).
    @Suite(.enabled(if: MCPServer.isAvailable, isOff), .mcpServer, .serialized)
    struct MCPAssertionTests {
        /// An agent whose session `work` is at the MCP server, with the SDK's confidential client.
        private static func scene(_ keys: (MCPServer.Running) async throws -> String) async throws -> MCPScene
        {
            let server = try await MCPServer.start(
                "--id-jag",
                "--separate-as",
                "--stateless",
                "--json-response",
                "--access-ttl",
                "60"
            )
            let client = server.state["clients"]?.object?["confidential"]?.object
            let more = """
                issuer = "\(server.issuer)"
                client_id = "\(client?["client_id"]?.string ?? "")"
                client_secret = "\(client?["client_secret"]?.string ?? "")"
                flow = "jwt_bearer"
                \(try await keys(server))
                """
            return try await MCPScene(server, more: more)
        }

        /// The command that prints an assertion of the identity provider that the server trusts.
        private static func command(_ server: MCPServer.Running) -> [String] {
            ["python3", ProviderScript("mcp_server.py").path, server.work.path, "id-jag"]
        }

        @Test func `a program's assertions are tokens for the resource, a new one each time`() async throws {
            let scene = try await Self.scene { server in
                let words = Self.command(server).map { "\"\($0)\"" }
                return "assertion_command = [\(words.joined(separator: ", "))]"
            }
            let first = try await scene.get()
            let called = try await scene.call("whoami")
            #expect(called.status == 0 && called.standardOutput.contains("alice"), "\(called)")
            for _ in 0..<2 {
                let result = try await scene.agent.tokenctl("refresh", "work")
                #expect(result.status == 0, "\(result) \(scene.agent.log)")
            }
            #expect(try await scene.get() != first)
            let grants = try scene.server.parameters("grant_type", to: "token")
            #expect(grants == Array(repeating: "urn:ietf:params:oauth:grant-type:jwt-bearer", count: 3))
            let resources = try scene.server.parameters("resource", to: "token")
            #expect(resources.allSatisfy { $0 == scene.server.resource })
        }

        @Test func `one that was shown is refused, which needs nobody`() async throws {
            let files = try TemporaryDirectory()
            func renew(_ server: MCPServer.Running) async throws {
                let printed = try await Program.run(
                    Self.command(server),
                    environment: ["PATH": TestEnvironment.searchPath]
                )
                try files.write(printed.standardOutput, to: "assertion", mode: 0o600)
            }
            let scene = try await Self.scene { server in
                try await renew(server)
                return "assertion_file = \"\(files.path("assertion"))\""
            }
            let first = try await scene.get()
            let again = try await scene.agent.tokenctl("refresh", "work")
            #expect(again.status == 5 && again.complainsInOneLine, "\(again)")
            #expect(again.standardError.contains("used before"), "\(again)")
            #expect(try await scene.get() == first)
            try await renew(scene.server)
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(try await scene.get() != first)
        }
    }
}
