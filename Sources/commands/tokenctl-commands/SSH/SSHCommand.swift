// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Glibc
import Text

/// The command `ssh`, which runs ssh with a socket on the other host that serves tokens of some sessions.
struct SSHCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ssh",
        abstract: "Run ssh with tokens of some sessions on the other host.",
        discussion: """
            Root on the other host has the tokens of these sessions until the connection ends. TOKENAGENT_SOCK \
            there is the path of a socket that serves them as a [[socket]] does. The exit status is that of ssh.
            """
    )

    @Option(
        name: .customLong("session"),
        help: ArgumentHelp("A session to forward; repeatable, at least one.", valueName: "name")
    )
    var sessions: [SessionArgument]

    @OptionGroup var agent: AgentEndpointOptions

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("The host, then options and the command as for ssh.", valueName: "host")
    )
    var words: [String]

    func run() throws {
        let status: Int32
        do {
            status = try connect()
        } catch let failure as SSHFailure {
            status = failure.status
        }
        // Nothing is left on either host at this point.
        if status != 0 { throw ExitCode(status) }
    }

    /// The exit status of ssh itself, if no command on the other host has ended.
    private static let failed: Int32 = 255

    private func connect() throws -> Int32 {
        let arguments = try SSHArguments(words)
        var socket = try ForwardedSocket(agent.endpoint, sessions.map(\.name), for: arguments.host)
        let signals = try RelayedSignals()
        let connection = try SSHMasterConnection(arguments, control: socket.controlPath, signals)
        defer { connection.end() }
        try connection.forward(to: socket.path)
        let shell = try connection.startShell()
        let status = socket.serve(until: shell, signals)
        // The messages of ssh do not name the setting.
        if status == SSHCommand.failed, connection.isHeld {
            FailureReport.tell(
                AgentError(
                    .denied,
                    "\(arguments.host) did not start a second session on the connection",
                    remedy: .set("MaxSessions in its sshd_config(5) to 2 or more")
                )
            )
        }
        return status
    }
}
