// SPDX-License-Identifier: MIT

import AgentSettings
import CommandExecution
import Glibc

/// Starts the process that runs commands for the agent, before the agent holds any secret.
///
/// It is a program of its own, `tokenagent-runner`, beside this executable or in `../libexec/tokenagent`: it lives as
/// long as the agent, and a second copy of the agent's own libraries would double what the agent costs.
enum CommandRunnerStart {
    private static let name = "tokenagent-runner"

    /// The agent's ends of the sockets between the two.
    struct Sockets {
        /// For commands.
        let commands: Int32
        /// For the guards of exchanges.
        let door: Int32
    }

    /// Starts the process and returns the agent's ends of the sockets between the two.
    ///
    /// An agent whose runner is missing still serves tokens; every command then fails and says why.
    static func start(
        _ options: StartOptions,
        _ places: AgentLocations,
        _ environment: [String: String]
    ) throws(StartFailure) -> Sockets {
        let (commands, itsCommands) = try socketPair()
        defer { close(itsCommands) }
        let (door, itsDoor) = try socketPair()
        defer { close(itsDoor) }
        // In the background nobody reads what it says, and whoever reads from the start waits for its end.
        let errors = options.readiness == nil ? 2 : unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { if errors > 2 { close(errors) } }
        let start = ProgramStart(
            executable: executable,
            arguments: [name] + source(options, places.configuration),
            environment: EnvironmentScrub.forCommands(environment),
            descriptors: [
                2: errors, CommandRunnerProcess.agentDescriptor: itsCommands,
                GuardStarts.agentDescriptor: itsDoor,
            ],
            placement: .ownGroup,
            directory: environment["HOME"]
        )
        do throws(ProgramFailure) {
            _ = try start.start()
        } catch {
            Console.tell("hooks and commands cannot run: \(error.message)")
        }
        return Sockets(commands: commands, door: door)
    }

    private static func socketPair() throws(StartFailure) -> (ours: Int32, its: Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .system("make a socket pair") }
        return (ends[0], ends[1])
    }

    /// The command line with which the runner learns the commands when the configuration is read again.
    private static func source(_ options: StartOptions, _ file: ConfigurationFile) -> [String] {
        [ProcessEnvironment.executable, "--list-commands"] + (options.allowsRoot ? ["--allow-root"] : [])
            + (file.mustExist ? ["--config=\(file.path)"] : [])
    }

    private static var executable: String {
        let own = ProcessEnvironment.executable
        let directory = String(own.prefix(upTo: own.lastIndex(of: "/") ?? own.startIndex))
        let beside = "\(directory)/\(name)"
        return unsafe access(beside, X_OK) == 0 ? beside : "\(directory)/../libexec/tokenagent/\(name)"
    }
}
