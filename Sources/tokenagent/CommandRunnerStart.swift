// SPDX-License-Identifier: MIT

import AgentSettings
import CommandExecution
import Glibc
import TokenCore

/// Starts the process that will run commands for the agent; before the agent holds any secret.
enum CommandRunnerStart {
    /// Answers the agent's end of the socket between the two.
    static func start(_ environment: [String: String]) throws(StartFailure) -> Int32 {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .system("make a socket pair") }
        defer { close(ends[1]) }
        let start = ProgramStart(
            executable: ProcessEnvironment.executable,
            arguments: ["tokenagent", "--run-commands=3"],
            environment: EnvironmentScrub.forCommands(environment),
            descriptors: [2: 2, 3: ends[1]],
            placement: .ownGroup,
            directory: environment["HOME"]
        )
        do throws(CommandFailure) {
            _ = try start.start()
            return ends[0]
        } catch {
            close(ends[0])
            throw .command(error)
        }
    }
}
