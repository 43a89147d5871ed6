// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isOff: Comment =
    "takes half a minute and PyPI; set TOKENAGENT_TEST_FULL=1, and TOKENAGENT_IDP_DIR to the directory of its script"

extension EndToEnd {
    /// Sessions that know only the address of an MCP server, with the server and the rules of the official SDK.
    @Suite(.enabled(if: MCPServer.isAvailable, isOff), .mcpServer, .serialized)
    struct MCPServerTests {
        /// A shape of the server, as options of its script.
        static let shapes: [[String]] = [
            ["--separate-as", "--require-resource", "--check-audience"],
            ["--separate-as", "--as-path", "/tenant", "--require-resource"],
            ["--separate-as", "--as-path", "/tenant", "--as-metadata", "oidc"],
            ["--as-path", "/tenant", "--as-metadata", "oidc-append"],
            ["--bare-401"], ["--bare-401", "--prm-root"], ["--slash", "--separate-as"], ["--no-iss"],
            ["--tls"],
            ["--require-scope", "--strict-scope"], ["--keep"],
        ]

        @Test(.holds("193"), arguments: shapes)
        func `an address alone is logged in, and lives on through refreshes`(shape: [String]) async throws {
            let server = try await MCPServer.start(
                shape + ["--stateless", "--json-response", "--access-ttl", "60"]
            )
            let scene = try await MCPScene(server)
            let login = try await scene.agent.tokenctl("login", "work")
            try #require(login.status == 0, "\(login) \(scene.agent.log)")
            #expect(
                login.standardOutput.contains("\(server.resource) sends you to \(server.issuer)"),
                "\(login)"
            )
            let first = try await scene.get()
            let called = try await scene.call("whoami")
            #expect(called.status == 0 && called.standardOutput.contains("alice"), "\(called)")
            for _ in 0..<2 {
                let refreshed = try await scene.refresh()
                #expect(refreshed.status == 0, "\(refreshed.standardError) \(scene.agent.log)")
            }
            let last = try await scene.get()
            #expect(last != first)
            #expect(try await scene.call("whoami").standardOutput.contains("alice"))
            // The resource is named each time, and the client was registered for every scope there is.
            #expect(try server.parameters("resource", to: "authorize") == [server.resource])
            let tokens = try server.requests(to: "token").filter {
                $0["params"]?.object?["grant_type"]?.string == "refresh_token"
            }
            #expect(tokens.count == 2)
            #expect(try server.parameters("resource", to: "token").allSatisfy { $0 == server.resource })
            let registered = try server.requests(to: "register")
            #expect(registered.count == 1)
            #expect(registered.first?["json"]?.object?["scope"]?.string?.contains("mcp:admin") == true)
            let logout = try await scene.agent.tokenctl("logout", "work")
            #expect(logout.status == 0 && logout.standardError.isEmpty, "\(logout)")
            #expect(try server.requests(to: "revoke").count >= 1)
        }

        @Test(.holds("195")) func `a tool that wants more scope names the login that brings it`() async throws
        {
            let server = try await MCPServer.start(
                "--separate-as",
                "--stateless",
                "--json-response",
                "--require-resource",
                "--access-ttl",
                "60"
            )
            let scene = try await MCPScene(server)
            try await scene.logIn()
            let token = try await scene.get()
            let before = try await scene.grantedScopes()
            #expect(before.contains("mcp:read") && !before.contains("mcp:admin"))
            let refused = try await scene.call("admin")
            #expect(refused.status == 4 && refused.complainsInOneLine, "\(refused)")
            let remedy = "tokenctl login work --scope 'mcp:admin'"
            #expect(refused.standardError.hasSuffix("  Run: \(remedy)\n"), "\(refused)")
            // The token is good, and stays until there is another one.
            #expect(try await scene.get() == token)
            let stepped = try await scene.agent.shell(remedy)
            try #require(stepped.status == 0, "\(stepped) \(scene.agent.log)")
            #expect(try await scene.grantedScopes() == before.union(["mcp:admin"]))
            let called = try await scene.call("admin")
            #expect(called.status == 0 && called.standardOutput.contains("alice"), "\(called)")
            // What was granted so lives on, with the same client.
            #expect(try await scene.refresh().status == 0)
            #expect(try await scene.call("admin").status == 0)
            #expect(try server.requests(to: "register").count == 1)
        }

        @Test func `a script is told by its status that a login has to be more recent`() async throws {
            let server = try await MCPServer.start("--separate-as", "--access-ttl", "60")
            let scene = try await MCPScene(server)
            try await scene.logIn()
            let token = try await scene.get()
            let challenge =
                #"Bearer error="insufficient_user_authentication", max_age="20", resource_metadata="\#(server.resource)""#
            let report = ["report", "work", "--status", "401", "--www-authenticate", challenge]
            let told = try await scene.agent.tokenctl(report, input: token)
            #expect(told.status == 4 && told.standardOutput.isEmpty && told.complainsInOneLine, "\(told)")
            let remedy = "tokenctl login work --max-age 20s"
            #expect(told.standardError.hasSuffix("  Run: \(remedy)\n"), "\(told)")
            let json = try await scene.agent.tokenctl(report + ["--json"], input: token)
            let answer = try JSONValue(parsing: json.standardOutput.utf8).object
            #expect(json.status == 4 && answer?["action"]?.string == "step_up", "\(json)")
            #expect(answer?["max_age"]?.integer == 20)
            #expect(try await scene.get() == token)
            #expect(try await scene.agent.shell(remedy).status == 0)
            #expect(try server.parameters("max_age", to: "authorize") == [nil, "20"])
            #expect(try await scene.get() != token)
        }

        @Test func `a tool that wants a recent login has it after the command that is named`() async throws {
            let server = try await MCPServer.start(
                "--separate-as",
                "--stateless",
                "--json-response",
                "--access-ttl",
                "120"
            )
            let scene = try await MCPScene(server)
            try await scene.logIn()
            let end = ContinuousClock.now + .seconds(21)
            #expect(try await scene.call("fresh").status == 0)
            let token = try await scene.get()
            #expect(try await Polling.until(within: .seconds(60)) { ContinuousClock.now >= end })
            let refused = try await scene.call("fresh")
            #expect(refused.status == 4 && refused.complainsInOneLine, "\(refused)")
            let remedy = "tokenctl login work --max-age 20s"
            #expect(refused.standardError.hasSuffix("  Run: \(remedy)\n"), "\(refused)")
            #expect(try await scene.get() == token)
            let stepped = try await scene.agent.shell(remedy)
            try #require(stepped.status == 0, "\(stepped) \(scene.agent.log)")
            let called = try await scene.call("fresh")
            #expect(called.status == 0 && called.standardOutput.contains("alice"), "\(called)")
        }

        @Test(.holds("194")) func `a document about the client is its name, where the server reads it`()
            async throws
        {
            let server = try await MCPServer.start("--cimd", "--tls", "--access-ttl", "60")
            let document = server.state["cimd_document"]?.string ?? ""
            let scene = try await MCPScene(
                server,
                more: "client_metadata_url = \"\(document)\"\nredirect_port = 18407"
            )
            try await scene.logIn()
            let refreshed = try await scene.refresh()
            #expect(refreshed.status == 0, "\(refreshed) \(scene.agent.log)")
            let clients = try server.parameters("client_id", to: "authorize")
            #expect(clients == [document])
            #expect(try server.requests(to: "register").isEmpty)
        }
    }
}
