// SPDX-License-Identifier: MIT

import AgentServer
import CommandClient
import CommandExecution
import NIOCore
import NIOPosix

/// Where the agent's work is done: the loop of its socket and sessions, the one of tasks and the network, a thread that
/// may block, and the process that runs commands.
struct AgentThreads {
    let loop: AgentLoop
    let network: any EventLoop
    let pool: NIOThreadPool
    let commands: CommandRunnerClient
    let secretCommands: SerialCommands

    /// Starts the threads and takes over `runner`, our end of the socket to the process that knows `table`.
    init(runner: Int32, table: CommandTable) throws(StartFailure) {
        network = TaskThread.install()
        pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        do {
            loop = try AgentLoop.start()
        } catch {
            throw StartFailure(.internal, "\(error)")
        }
        commands = CommandRunnerClient(socket: runner, table: table, on: network)
        secretCommands = SerialCommands(commands)
    }
}
