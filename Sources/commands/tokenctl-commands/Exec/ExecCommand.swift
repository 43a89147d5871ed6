// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Glibc
import Text

/// The command `exec`, which runs a program that finds a token in a file.
struct ExecCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run a program with a file that contains a fresh token.",
        discussion: """
            The variable BEARER_TOKEN_FILE contains the path of the file, which is updated while the program runs \
            and removed afterwards; --file-env adds variables, such as AWS_WEB_IDENTITY_TOKEN_FILE. The exit status \
            is the program's, 128 plus the signal's number if a signal ended it, or 127 if it cannot be started.
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument?

    @Option(
        help: ArgumentHelp(
            "Set the cloud library's variables for this [[endpoint]], instead of using a session.",
            valueName: "name"
        )
    )
    var endpoint: String?

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Also set this variable to the first token.", valueName: "variable")
    )
    var variable: String?

    @Option(
        name: .customLong("file-env"),
        help: ArgumentHelp(
            "Also set this variable to the path of the file; repeatable.",
            valueName: "variable"
        )
    )
    var fileVariables: [String] = []

    @Flag(name: .customLong("id-token"), help: "Use the ID token instead of the access token.")
    var wantsIDToken = false

    @OptionGroup var variant: VariantOptions

    @OptionGroup var agent: AgentAndOutputOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("After --: the program and its arguments.", valueName: "command")
    )
    var command: [String] = []

    func validate() throws {
        guard command.first?.isEmpty == false else { throw ValidationError("missing command after --") }
        guard (session == nil) != (endpoint == nil) else {
            throw ValidationError("either a session or --endpoint is required")
        }
        guard endpoint == nil || asksForNothingElse else {
            throw ValidationError("--env, --file-env, --id-token, --scope and --audience require a session")
        }
        guard variable.map(VariableNameSyntax.isValid) != false else {
            throw ValidationError("--env requires the name of a variable")
        }
        guard fileVariables.allSatisfy(VariableNameSyntax.isValid) else {
            throw ValidationError("--file-env requires the name of a variable")
        }
        guard !fileVariables.contains(where: { $0 == variable }), variable != "BEARER_TOKEN_FILE" else {
            throw ValidationError("a variable cannot contain both the token and the path of its file")
        }
    }

    /// Whether no option is given that requires a session.
    private var asksForNothingElse: Bool {
        variable == nil && fileVariables.isEmpty && !wantsIDToken && variant.scopes.isEmpty
            && variant.audience == nil
    }

    func run() throws {
        let status =
            if let session { try runProgram(of: session) } else {
                try CloudEndpointProgramRun(agent.endpoint).run(endpoint ?? "", command)
            }
        // The token file has been removed at this point.
        if status != 0 { throw ExitCode(status) }
    }

    private func runProgram(of session: SessionArgument) throws -> Int32 {
        let tokenRequest = TokenRequest(
            session: session.name,
            scopes: variant.scopes,
            audience: variant.audience,
            wantsIDToken: wantsIDToken
        )
        do {
            var upkeep = try TokenFileRefresher.begun(tokenRequest, agent.endpoint)
            let signals = try RelayedSignals()
            for name in ["BEARER_TOKEN_FILE"] + fileVariables { unsafe setenv(name, upkeep.path, 1) }
            if let variable { unsafe setenv(variable, upkeep.token, 1) }
            guard let child = ChildProcess.running(command) else { return 127 }
            return upkeep.refreshUntilExit(child, signals)
        } catch {
            throw error.about(session.name)
        }
    }
}

extension ChildProcess {
    /// Starts the program of the user's command line.
    ///
    /// - Returns: The process, or `nil` after an error, which is printed on standard error.
    static func running(_ command: [String]) -> ChildProcess? {
        do {
            return try ChildProcess(command[0], Array(command.dropFirst()), input: .inherited)
        } catch {
            FailureReport.tell(error)
            return nil
        }
    }
}
