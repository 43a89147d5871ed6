// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isOff: Comment =
    "takes half a minute and PyPI; set TOKENAGENT_TEST_FULL=1, and TOKENAGENT_IDP_DIR to the directory of its script"

extension EndToEnd {
    /// `tokenctl mcp connect` between the client and the server of the official SDK.
    @Suite(.enabled(if: MCPServer.isAvailable, isOff), .mcpServer, .serialized)
    struct MCPClientTests {
        private func logged(in options: [String] = []) async throws -> (MCPScene, MCPClient) {
            let server = try await MCPServer.start(
                ["--separate-as", "--require-resource", "--check-audience", "--access-ttl", "120"] + options
            )
            let scene = try await MCPScene(server)
            try await scene.logIn()
            return (scene, MCPClient(server: server, agent: scene.agent))
        }

        private func refreshes(_ server: MCPServer.Running) throws -> Int {
            try server.parameters("grant_type", to: "token").count { $0 == "refresh_token" }
        }

        @Test(.holds("222"), arguments: ["legacy", "auto"], [[], ["--json-response"], ["--stateless"]])
        func `the client lists and calls`(mode: String, options: [String]) async throws {
            let (_, client) = try await logged(in: options)
            let result = try await client.run(
                """
                tools = await session.list_tools()
                print(sorted(tool.name for tool in tools.tools))
                print(text(await session.call_tool("whoami")))
                """,
                mode: mode
            )
            #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
            #expect(result.standardOutput.contains("['admin', 'fresh', 'slow', 'whoami']"), "\(result)")
            #expect(result.standardOutput.contains("alice"), "\(result)")
            let versions = Set(
                try client.server.requests(to: "mcp").compactMap { $0["mcp-protocol-version"]?.string }
            )
            #expect(versions.contains(mode == "auto" ? "2026-07-28" : "2025-11-25"), "\(versions)")
        }

        @Test(.holds("222")) func `progress is heard, and a call can be given up`() async throws {
            let (_, client) = try await logged()
            let result = try await client.run(
                """
                steps = []
                async def progress(done, total, message):
                    steps.append(done)
                await session.call_tool("slow", {"seconds": 1.0}, progress_callback=progress)
                print("steps", steps)
                try:
                    await asyncio.wait_for(session.call_tool("slow", {"seconds": 30.0}), 0.5)
                except (TimeoutError, asyncio.TimeoutError):
                    print("given up")
                print(text(await session.call_tool("whoami")))
                """
            )
            #expect(result.status == 0, "\(result)")
            #expect(result.standardOutput.contains("steps [1.0, 2.0, 3.0, 4.0, 5.0]"), "\(result)")
            #expect(result.standardOutput.contains("given up") && result.standardOutput.contains("alice"))
            let told = try client.server.requests(to: "mcp").count {
                $0["rpc"]?.string == "notifications/cancelled"
            }
            #expect(told == 1)
        }

        @Test(.holds("220")) func `a token that ends in the middle is replaced`() async throws {
            let (scene, client) = try await logged()
            let result = try await client.run(
                """
                print(text(await session.call_tool("whoami")))
                lever("lever", "expire-access")
                print(text(await session.call_tool("whoami")))
                """
            )
            #expect(result.status == 0, "\(result) \(scene.agent.log)")
            #expect(result.standardOutput.split(separator: "alice").count >= 3, "\(result)")
        }

        @Test(.holds("220")) func `a dead login is told, and a new one goes on with the conversation`()
            async throws
        {
            let (scene, client) = try await logged()
            let result = try await client.run(
                """
                print(text(await session.call_tool("whoami")))
                lever("lever", "revoke-all")
                try:
                    await session.call_tool("whoami")
                except Exception as error:
                    print("told:", error)
                subprocess.run(["tokenctl", "login", "work"], check=True, stdout=subprocess.DEVNULL)
                print(text(await session.call_tool("whoami")))
                """
            )
            #expect(result.status == 0, "\(result) \(scene.agent.log)")
            #expect(result.standardOutput.split(separator: "alice").count >= 3, "\(result)")
            #expect(result.standardOutput.contains("run: tokenctl login work"), "\(result)")
        }

        @Test(.holds("221"))
        func `a tool that wants more of the login is called after the command that is told`()
            async throws
        {
            let (scene, client) = try await logged()
            let result = try await client.run(
                """
                try:
                    await session.call_tool("admin")
                except Exception as error:
                    command = str(error).split("(run: ")[1].strip().removesuffix(")")
                    print("told:", command)
                subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
                print(text(await session.call_tool("admin")))
                """
            )
            #expect(result.status == 0, "\(result) \(scene.agent.log)")
            #expect(
                result.standardOutput.contains("told: tokenctl login work --scope 'mcp:admin'"),
                "\(result)"
            )
            #expect(result.standardOutput.contains("alice"))
        }

        @Test(.holds("222")) func `a server that is restarted ends no conversation`() async throws {
            let (_, client) = try await logged()
            let result = try await client.run(
                """
                print(text(await session.call_tool("whoami")))
                lever("stop")
                lever("start", "--separate-as", "--require-resource", "--check-audience", "--access-ttl", "120")
                print(text(await session.call_tool("whoami")))
                """
            )
            #expect(result.status == 0, "\(result)")
            #expect(result.standardOutput.split(separator: "alice").count >= 3, "\(result)")
        }

        @Test(.holds("220")) func `20 clients whose token is refused share one refresh`() async throws {
            let (_, client) = try await logged()
            let before = try refreshes(client.server)
            let result = try await client.run(
                """
                lever("lever", "expire-access")
                async def one():
                    async with open_client() as other:
                        return text(await other.call_tool("whoami"))
                found = await asyncio.gather(*(one() for _ in range(20)))
                print(sum("alice" in one for one in found))
                """
            )
            #expect(result.status == 0 && result.standardOutput == "20\n", "\(result)")
            let count = try refreshes(client.server) - before
            #expect(count == 1)
            Attachment.record("20 clients of the SDK, \(count) refresh", named: "figure")
        }

        @Test(.holds("222")) func `a call takes at most 2 ms longer than without the bridge`() async throws {
            let (_, client) = try await logged(in: ["--json-response"])
            let result = try await client.run(
                """
                bridged = await timed(session)
                token = subprocess.run(["tokenctl", "get", "work"], capture_output=True, text=True).stdout.strip()
                web = create_mcp_http_client(headers={"Authorization": "Bearer " + token})
                async with web, Client(streamable_http_client(url, http_client=web), mode=mode) as direct:
                    alone = await timed(direct)
                again = await timed(session)
                print("%.2f ms with, %.2f ms without" % (min(bridged, again), alone))
                print("added", min(bridged, again) - alone)
                """
            )
            #expect(result.status == 0, "\(result)")
            let added = result.standardOutput.split(separator: "added ").last.flatMap {
                Double($0.dropLast())
            }
            Attachment.record(
                result.standardOutput.split(separator: "\n").first.map(String.init) ?? "",
                named: "figure"
            )
            #expect(try #require(added) <= 2, "\(result)")
        }
    }
}
