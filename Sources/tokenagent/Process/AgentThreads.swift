// SPDX-License-Identifier: MIT

import AgentServer
import CommandClient
import CommandExecution
import NIOCore
import NIOPosix

/// The agent's threads, and the process that runs its commands.
///
/// One loop is for its socket and sessions, one for tasks and the network. One thread may block.
struct AgentThreads {
    let loop: AgentLoop
    let network: any EventLoop
    let pool: NIOThreadPool
    let commands: CommandRunnerClient
    let secretCommands: SecretCommandRunner

    /// Starts the threads and takes ownership of `runner`, the agent's end of the socket to the process that
    /// runs commands.
    ///
    /// `table` has the commands that the process knows.
    ///
    /// - Throws: ``StartFailure`` if the event loop cannot start.
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
        secretCommands = SecretCommandRunner(commands)
    }
}
