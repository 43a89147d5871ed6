// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `keyring`, which replaces the program of that name for pip, uv and others.
struct KeyringCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyring",
        abstract: "Serve pip or uv instead of the program keyring.",
        discussion: """
            With a link keyring in PATH and hosts in the session: pip --keyring-provider subprocess, uv \
            --keyring-provider subprocess.
            """
    )

    @Argument(help: ArgumentHelp("The operation: get.", valueName: "operation"))
    var operation: String

    @Argument(help: ArgumentHelp("The URL of the package index.", valueName: "service"))
    var service: String

    @Argument(help: ArgumentHelp("The user name, if known.", valueName: "user"))
    var user: String?

    @Option(help: ArgumentHelp("The output: password, or creds with the user name.", valueName: "mode"))
    var mode: Mode = .password

    @Option(help: ArgumentHelp("The output format: plain or json.", valueName: "format"))
    var output: Output = .plain

    @OptionGroup var helper: HelperOptions

    func run() throws {
        guard operation == "get" else {
            throw AgentError(
                .badRequest,
                "unsupported operation \"\(TerminalText.escaped(operation))\", only get is supported"
            )
        }
        let question = ServerAddress(service).map {
            CredentialRequest(session: helper.session?.name, server: $0, user: user)
        }
        try helper.answer(KeyringContract(asked: question, service: service, mode: mode, output: output))
    }

    enum Mode: String, ExpressibleByArgument, CaseIterable {
        case password
        case creds
    }

    enum Output: String, ExpressibleByArgument, CaseIterable {
        case plain
        case json
    }
}

/// The contract with callers of `keyring get`; without a credential it fails silently with exit status 1.
struct KeyringContract: HelperContract {
    var asked: CredentialRequest?
    var service: String
    var mode: KeyringCommand.Mode
    var output: KeyringCommand.Output

    func question() -> CredentialRequest? { asked }

    var refusalSign: RejectionSign { .repetition(of: "keyring \(service)") }

    func answer(_ credential: HelperCredential) -> String {
        let token = credential.token.value
        switch (mode, output) {
        case (.password, .plain): return token + "\n"
        case (.creds, .plain): return credential.user + "\n" + token + "\n"
        case (.password, .json):
            let reply: JSONValue = ["password": .string(token)]
            return reply.text + "\n"
        case (.creds, .json):
            let reply: JSONValue = ["username": .string(credential.user), "password": .string(token)]
            return reply.text + "\n"
        }
    }

    var nothing: HelperResponse { HelperResponse(status: 1) }
}
