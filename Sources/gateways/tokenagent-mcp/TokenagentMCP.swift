// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import MCPBridge
import NIOPosix
import ServerSettings

/// The program that `tokenctl mcp connect` becomes: an MCP server at standard input and output, in front of one that
/// speaks HTTP and wants a token.
@main
enum TokenagentMCP {
    static func main() async {
        ClientProcessHardening.protect()
        do throws(AgentError) {
            try await serve(BridgeOptions(ProcessArguments().dropFirst()))
        } catch {
            exit(FailureReport.tell(error))
        }
    }

    private static func serve(_ order: BridgeOptions) async throws(AgentError) {
        let signs = try ShutdownSignals()
        let variables = ProxyVariables { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
        let bridge = try Bridge(
            ResourceSession(order.address, order.endpoint),
            authorities: order.authorities,
            proxy: ResourceProxy.find(for: order.address, variables),
            descriptors: (STDIN_FILENO, STDOUT_FILENO),
            on: MultiThreadedEventLoopGroup(numberOfThreads: 1)
        )
        Task {
            let status = await signs.wait(watching: STDOUT_FILENO)
            await bridge.end()
            exit(status)
        }
        await bridge.run()
        await bridge.end()
        exit(0)
    }
}
