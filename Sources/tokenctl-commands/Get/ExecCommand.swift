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
        abstract: "Run a program that finds a fresh token in a file.",
        discussion: """
            BEARER_TOKEN_FILE names the file, which is kept fresh while the program runs and removed after; \
            --file-env gives it further names, such as AWS_WEB_IDENTITY_TOKEN_FILE. The exit status is the \
            program's, 128 and the signal's number if a signal ended it, 127 if it cannot be started.
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument?

    @Option(
        help: ArgumentHelp(
            "Set the variables by which the library of a cloud finds this [[endpoint]], in place of a session.",
            valueName: "name"
        )
    )
    var endpoint: String?

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Set this variable to the first token too.", valueName: "variable")
    )
    var variable: String?

    @Option(
        name: .customLong("file-env"),
        help: ArgumentHelp("Name the file in this variable too; may be repeated.", valueName: "variable")
    )
    var fileVariables: [String] = []

    @Flag(name: .customLong("id-token"), help: "The ID token in place of the access token.")
    var wantsIDToken = false

    @OptionGroup var variant: VariantOptions

    @OptionGroup var agent: AgentOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("After --: the program and its arguments.", valueName: "command")
    )
    var command: [String] = []

    func validate() throws {
        guard command.first?.isEmpty == false else { throw ValidationError("a command goes after --") }
        guard (session == nil) != (endpoint == nil) else {
            throw ValidationError("either a session or --endpoint is needed")
        }
        guard endpoint == nil || asksForNothingElse else {
            throw ValidationError("--env, --file-env, --id-token, --scope and --audience go with a session")
        }
        guard variable.map(VariableName.isValid) != false else {
            throw ValidationError("--env takes the name of a variable")
        }
        guard fileVariables.allSatisfy(VariableName.isValid) else {
            throw ValidationError("--file-env takes the name of a variable")
        }
        guard !fileVariables.contains(where: { $0 == variable }), variable != "BEARER_TOKEN_FILE" else {
            throw ValidationError("a variable holds the token or names its file, not both")
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
                try EndpointRun(agent.endpoint).run(endpoint ?? "", command)
            }
        // The token file has been removed at this point.
        if status != 0 { throw ExitCode(status) }
    }

    private func runProgram(of session: SessionArgument) throws -> Int32 {
        let demand = TokenRequest(
            session: session.name,
            scopes: variant.scopes,
            audience: variant.audience,
            wantsIDToken: wantsIDToken
        )
        do {
            var upkeep = try TokenFileRefresher.begun(demand, agent.endpoint)
            let signals = try RelayedSignals()
            for name in ["BEARER_TOKEN_FILE"] + fileVariables { unsafe setenv(name, upkeep.path, 1) }
            if let variable { unsafe setenv(variable, upkeep.token, 1) }
            guard let child = ChildProcess.running(command) else { return 127 }
            return upkeep.accompany(child, signals)
        } catch {
            throw error.about(session.name)
        }
    }
}

/// The syntax of a variable name that a shell accepts.
enum VariableName {
    static func isValid(_ name: String) -> Bool {
        let bytes = name.utf8
        return bytes.first.map { !$0.isASCIIDigit } ?? false
            && bytes.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "_") }
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
            StandardError.write("tokenctl: \(FailureReport.line(for: error))\n")
            return nil
        }
    }
}
