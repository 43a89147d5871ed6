// SPDX-License-Identifier: MIT

import AgentSettings
import CommandExecution
import Glibc

/// The start of a command together with an agent.
///
/// This process becomes the command, so exit status, signals and terminal are those of the command. An agent
/// started for it is its child, and ends when the kernel signals that its parent has ended.
struct CommandStart {
    private let options: StartOptions
    private let places: AgentLocations
    private let environment: [String: String]

    init(_ options: StartOptions, _ places: AgentLocations, _ environment: [String: String]) {
        self.options = options
        self.places = places
        self.environment = environment
    }

    func run(_ command: [String]) throws(StartFailure) -> Never {
        let agent = try BackgroundStart(options, places, environment, endsWithParent: true).start()
        CurrentProcess.set("TOKENAGENT_SOCK", agent.socket)
        CurrentProcess.set("TOKENAGENT_PID", "\(agent.pid)")
        var arguments = unsafe command.map { unsafe strdup($0) } + [nil]
        unsafe execvp(command[0], &arguments)
        let reason = errno
        Console.tell("cannot run \(command[0]): \(unsafe String(cString: strerror(reason)))")
        // The exit statuses of shells: not found, or found but not executable.
        exit(reason == ENOENT ? 127 : 126)
    }
}
