// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The root command, with all commands, their options and their help.
struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokenctl",
        abstract: "Get OAuth access tokens from the agent, refreshed as needed.",
        discussion: """
            Start here:
              tokenctl add NAME      create a session
              tokenctl login NAME    log in to it
              tokenctl get NAME      print an access token
              tokenctl doctor        look for problems

            Exit status: 0 done, 1 other failure, 2 wrong usage or configuration, 3 no agent, 4 login required, \
            5 temporary failure, 6 agent locked, 7 no such session, 8 denied, 9 (status --check) a login expires soon.
            """,
        groupedSubcommands: [
            CommandGroup(
                name: "Tokens",
                subcommands: [
                    GetCommand.self, ExecCommand.self, CurlCommand.self, SSHCommand.self,
                    RefreshCommand.self, ReportCommand.self, ClaimsCommand.self,
                ]
            ),
            CommandGroup(
                name: "Sessions",
                subcommands: [
                    AddCommand.self, ProvidersCommand.self, LoginCommand.self, LogoutCommand.self,
                    RemoveCommand.self,
                    StatusCommand.self, ListCommand.self,
                    WatchCommand.self, AuditCommand.self,
                ]
            ),
            CommandGroup(
                name: "Integrations",
                subcommands: [
                    SetupCommand.self, GitCredentialCommand.self, DockerCredentialCommand.self,
                    KubeCredentialCommand.self,
                    TerraformCommand.self, GoogleCommand.self, GoAuthCommand.self, BazelCommand.self,
                    KeyringCommand.self, AWSCommand.self, MCPCommand.self, ProxyCommand.self,
                ]
            ),
            CommandGroup(
                name: "Agent",
                subcommands: [
                    LockCommand.self, UnlockCommand.self, VaultCommand.self, ConfigCommand.self,
                    ReloadCommand.self, DoctorCommand.self, FleetCommand.self,
                    AgentSocketCommand.self, VersionCommand.self, ShutdownCommand.self,
                    CompletionsCommand.self,
                ]
            ),
        ]
    )

    /// Parses `arguments` and runs the command.
    ///
    /// - Returns: The exit status.
    /// - Throws: The errors of the command; wrong usage is an ``AgentError`` with the code `badRequest`.
    static func status(of arguments: [String]) throws -> Int32 {
        do {
            if arguments == ["--version"] { return try status(of: ["version"]) }
            var command = try parseAsRoot(arguments)
            try command.run()
            return 0
        } catch let error as AgentError {
            throw error
        } catch let exit as ExitCode {
            return exit.rawValue
        } catch let stop where exitCode(for: stop) == .success {
            let text = fullMessage(for: stop)
            try StandardOutput.write(Array((text.hasSuffix("\n") ? text : text + "\n").utf8))
            return 0
        } catch {
            throw usageError(error, arguments)
        }
    }

    /// Joins `text` to one line; values in a list of one per line are separated by commas.
    private static func inOneLine(_ text: String) -> String {
        let lines = text.split(separator: "\n")
        let values = lines.filter { $0.hasPrefix(valueMark) }
        let rest = lines.filter { !$0.hasPrefix(valueMark) }.joined(separator: " ")
        guard !values.isEmpty else { return rest }
        return rest + " " + values.map { $0.dropFirst(valueMark.count) }.joined(separator: ", ")
    }

    /// The prefix that ArgumentParser prints before each value of a list of more than five.
    private static let valueMark = "  - "

    /// The names of commands in oidc-agent, gh and the shell, with those of our commands for the same purpose.
    private static let synonyms = [
        "gen": "add", "new": "add", "create": "add", "rm": "remove", "delete": "remove", "ls": "list",
        "token": "get", "show": "status", "auth": "login", "stop": "shutdown", "quit": "shutdown",
        "run": "exec",
    ]

    /// The options of oidc-agent's programs for each command, with those of ours for the same purpose.
    private static let optionSynonyms = [
        "add": ["--iss": "--issuer", "--aud": "--audience", "--rt": "--flow import"],
        "get": ["--time": "--min-valid", "--aud": "--audience"],
        "login": [
            "--iss": "--issuer", "--rt": "--refresh-token-stdin", "--pw-cmd": "--password-stdin",
            "--pw-file": "--password-stdin",
        ],
    ]

    private static func usageError(_ error: any Error, _ arguments: [String]) -> AgentError {
        let names = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let first = arguments.first, first.hasPrefix("-") || names.contains(first) else {
            let given = arguments.first ?? ""
            let near = synonyms[given] ?? WordSuggestion.nearest(to: given, among: names + ["help"])
            return AgentError(
                .badRequest,
                "unknown command \"\(given)\"",
                remedy: near.map { Remedy.run("tokenctl \($0)") } ?? .see("tokenctl --help")
            )
        }
        let text = inOneLine(message(for: error))
        if let (option, ours) = optionSynonyms[first]?
            .first(where: { text.hasPrefix("Unknown option '\($0.key)'") })
        {
            return AgentError(
                .badRequest,
                "unknown option \(option)",
                remedy: .set("\(ours) instead of \(option)")
            )
        }
        if text.hasPrefix("Missing expected argument '<name>'") {
            return SelectableSessions.missingName(in: first, SelectableSessions.names(at: AgentEndpoint()))
        }
        let command = first.hasPrefix("-") ? "" : " \(first)"
        // ArgumentParser's own messages are sentences.
        let clause = text.hasSuffix(".") ? text.dropLast() : text[...]
        return AgentError(
            .badRequest,
            clause.prefix(1).lowercased() + clause.dropFirst(),
            remedy: .see("tokenctl\(command) --help")
        )
    }
}
