// SPDX-License-Identifier: MIT

import CommandClient
import CommandExecution
import NIOCore
import NIOPosix

/// Where the agent's work is done: one event loop, one thread that may block, and the process that runs commands.
struct AgentThreads {
    let group: MultiThreadedEventLoopGroup
    let pool: NIOThreadPool
    let commands: CommandRunnerClient

    var loop: any EventLoop { group.next() }

    /// Starts the threads and takes over `runner`, our end of the socket to the process that knows `table`.
    init(runner: Int32, table: CommandTable) throws(StartFailure) {
        TaskThread.install()
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        do {
            commands = try CommandRunnerClient.connect(socket: runner, table: table, on: group.next()).wait()
        } catch {
            throw StartFailure(.internal, "cannot reach the process that runs commands: \(error)")
        }
    }
}
