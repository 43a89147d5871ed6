// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// The client of the official Python SDK, which starts `tokenctl mcp connect` as its server.
struct MCPClient {
    let server: MCPServer.Running
    let agent: AgentUnderTest

    /// Runs a program of the client's, within a conversation where `session` and `say` are there.
    ///
    /// - Parameters:
    ///   - body: lines of Python; what they print is the result.
    ///   - mode: how the conversation is begun, as the SDK names it.
    /// - Returns: the program's result.
    /// - Throws: what the start of the program throws.
    func run(_ body: String, mode: String = "legacy") async throws -> ProgramResult {
        let indented = body.split(separator: "\n", omittingEmptySubsequences: false).map { "        \($0)" }
        let text = MCPClient.prologue + indented.joined(separator: "\n") + "\n\nasyncio.run(main())\n"
        let script = try agent.home.write(text, to: "client-\(UInt32.random(in: 0 ... .max)).py")
        return try await Program.run(
            [server.work.path("mcp/venv/bin/python"), script, server.resource, mode],
            environment: agent.environment.merging(["LEVER": lever]) { _, new in new },
            within: .seconds(240)
        )
    }

    /// A command that pulls a lever of the server's.
    private var lever: String {
        "PATH='\(TestEnvironment.searchPath)' python3 '\(ProviderScript("mcp_server.py").path)' '\(server.work.path)'"
    }

    private static let prologue = """
        import asyncio, json, os, statistics, subprocess, sys, time
        from mcp import Client, StdioServerParameters
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        url, mode = sys.argv[1:3]
        server = StdioServerParameters(command="tokenctl", args=["mcp", "connect", url], env=dict(os.environ))

        def open_client(**more):
            return Client(server, mode=mode, **more)

        def lever(*words):
            command = os.environ["LEVER"] + " " + " ".join(words)
            subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)

        def text(result):
            return result.content[0].text

        async def timed(client, count=200):
            times = []
            for _ in range(count):
                start = time.perf_counter()
                await client.call_tool("whoami")
                times.append(time.perf_counter() - start)
            return statistics.median(times) * 1000

        async def main():
            async with open_client() as session:

        """
}
