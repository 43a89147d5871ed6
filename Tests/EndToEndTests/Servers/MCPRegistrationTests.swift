// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isOff: Comment =
    "takes half a minute and PyPI; set TOKENAGENT_TEST_FULL=1, and TOKENAGENT_IDP_DIR to the directory of its script"

extension EndToEnd {
    /// Clients that a real server registers for us, forgets, and lets end.
    @Suite(.enabled(if: MCPServer.isAvailable, isOff), .mcpServer, .serialized)
    struct MCPRegistrationTests {
        @Test(.holds("194")) func `many sessions that log in at once have one client`() async throws {
            let server = try await MCPServer.start("--separate-as", "--auto-approve", "--access-ttl", "60")
            let names = (1...6).map { "s\($0)" }
            let scene = try await MCPScene(server, sessions: names)
            let statuses = try await withThrowingTaskGroup(of: Int32.self) { group in
                for name in names {
                    group.addTask { try await scene.agent.tokenctl("login", name).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == names.map { _ in 0 }, "\(scene.agent.log)")
            #expect(try server.requests(to: "register").count == 1)
            #expect(Set(try server.parameters("client_id", to: "authorize")).count == 1)
            for name in names {
                #expect(try await scene.agent.tokenctl("refresh", name).status == 0)
            }
        }

        @Test(.holds("194")) func `a server that has forgotten us registers us once more, at the next login`()
            async throws
        {
            let server = try await MCPServer.start("--separate-as", "--access-ttl", "60")
            let scene = try await MCPScene(server)
            try await scene.logIn()
            try await server.pull("forget-clients")
            let refused = try await scene.refresh()
            #expect(refused.status == 4 && refused.complainsInOneLine, "\(refused)")
            #expect(refused.standardError.contains("tokenctl login work"), "\(refused)")
            try await scene.logIn()
            #expect(try server.requests(to: "register").count == 2)
            let clients = try server.parameters("client_id", to: "authorize")
            #expect(clients.count == 2 && clients[0] != clients[1])
            #expect(try await scene.refresh().status == 0)
            // And no more than that: the client is good.
            try await scene.logIn()
            #expect(try server.requests(to: "register").count == 2)
        }

        @Test(.holds("194"), arguments: ["basic", "post"])
        func `a registered secret outlives the agent, and stands nowhere`(method: String) async throws {
            let server = try await MCPServer.start("--separate-as", "--access-ttl", "60")
            let scene = try await MCPScene(server, more: "client_authentication = \"\(method)\"")
            try await scene.logIn()
            let secret = try #require(server.clientSecrets.first)
            #expect(server.clientSecrets.count == 1)
            #expect(try await scene.refresh().status == 0)
            try await scene.agent.kill()
            try await scene.agent.start()
            let refreshed = try await scene.refresh()
            #expect(refreshed.status == 0, "\(refreshed) \(scene.agent.log)")
            try await scene.logIn()
            #expect(try server.requests(to: "register").count == 1)
            let found = try await scene.agent.shell("grep -rlF -e '\(secret)' \"$HOME\"")
            #expect(found.standardOutput.isEmpty, "\(found)")
            #expect(!scene.agent.log.contains(secret))
        }

        @Test func `a secret that ends is replaced before it does`() async throws {
            // A secret with less than ten minutes left is not used for a login.
            let server = try await MCPServer.start(
                "--separate-as",
                "--secret-expiry",
                "300",
                "--access-ttl",
                "60"
            )
            let scene = try await MCPScene(server, more: "client_authentication = \"post\"")
            try await scene.logIn()
            try await scene.logIn()
            #expect(try server.requests(to: "register").count == 2)
            #expect(try await scene.refresh().status == 0)
        }

        @Test func `a logout removes no client, so the next login needs no other`() async throws {
            let server = try await MCPServer.start("--separate-as", "--access-ttl", "60")
            let scene = try await MCPScene(server)
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            try await scene.agent.kill()
            try await scene.agent.start()
            try await scene.logIn()
            #expect(try server.requests(to: "register").count == 1)
        }

        @Test func `a server without registration says what to write`() async throws {
            let server = try await MCPServer.start("--separate-as", "--no-dcr")
            let scene = try await MCPScene(server)
            let refused = try await scene.agent.tokenctl("login", "work")
            #expect(refused.status == 2 && refused.standardError.contains("client_id"), "\(refused)")
            let configured = try await MCPScene(
                server,
                more: "client_id = \"tokenagent-public\"\nredirect_port = 18408"
            )
            try await configured.logIn()
            #expect(try await configured.refresh().status == 0)
        }
    }
}
