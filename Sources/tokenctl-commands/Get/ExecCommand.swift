// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Glibc

/// Runs a program that finds a token in a file.
struct ExecCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run a program that finds a fresh token in a file.",
        discussion: """
            BEARER_TOKEN_FILE names the file, which is kept fresh while the program runs and removed after. The \
            exit status is the program's, 128 and the signal's number if a signal ended it, 127 if it cannot be \
            started.
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Set this variable to the first token too.", valueName: "variable")
    )
    var variable: String?

    @OptionGroup var variant: VariantOptions

    @OptionGroup var agent: AgentOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("After --: the program and its arguments.", valueName: "command")
    )
    var command: [String] = []

    func validate() throws {
        guard command.first?.isEmpty == false else { throw ValidationError("a command goes after --") }
        guard let variable else { return }
        let isName = variable.utf8.enumerated().allSatisfy { index, byte in
            byte == UInt8(ascii: "_")
                || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
                || index > 0 && (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        guard isName, !variable.isEmpty else {
            throw ValidationError("--env takes the name of a variable")
        }
    }

    func run() throws {
        let status = try runProgram()
        // The file is gone by now.
        if status != 0 { throw ExitCode(status) }
    }

    private func runProgram() throws -> Int32 {
        let demand = TokenDemand(session: session.name, scopes: variant.scopes, audience: variant.audience)
        do {
            var upkeep = try TokenFileRefresher.begun(demand, agent.endpoint)
            let signals = try RelayedSignals()
            unsafe setenv("BEARER_TOKEN_FILE", upkeep.path, 1)
            if let variable { unsafe setenv(variable, upkeep.token, 1) }
            guard let child = start() else { return 127 }
            return upkeep.accompany(child, signals)
        } catch {
            throw error.about(session.name)
        }
    }

    private func start() -> ChildProcess? {
        do {
            return try ChildProcess(command[0], Array(command.dropFirst()), input: .inherited)
        } catch {
            StandardError.write("tokenctl: \(FailureReport.line(for: error))\n")
            return nil
        }
    }
}
