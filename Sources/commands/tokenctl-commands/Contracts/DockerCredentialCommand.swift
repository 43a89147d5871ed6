// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `docker-credential`, a credential helper of Docker, Podman and similar programs.
struct DockerCredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "docker-credential",
        abstract: "Serve docker as its credential helper.",
        discussion: """
            With a link docker-credential-tokenagent in PATH and hosts in the session, in ~/.docker/config.json: \
            "credHelpers": {"registry.example.com": "tokenagent"}.
            """
    )

    @Argument(
        help: ArgumentHelp("The operation: get, store, erase, list or version.", valueName: "operation")
    )
    var operation: String

    @Option(help: ArgumentHelp("The user name for the registry.", valueName: "user"))
    var username: String?

    @OptionGroup var helper: HelperOptions

    func validate() throws {
        guard username != "<token>" else {
            throw ValidationError(
                "--username cannot be <token>: docker would send the token as a refresh token"
            )
        }
    }

    func run() throws {
        switch operation {
        case "get":
            try helper.answer(
                DockerContract(try StandardInput.all(), session: helper.session?.name, user: username)
            )
        case "erase":
            let contract = DockerContract(
                try StandardInput.all(),
                session: helper.session?.name,
                user: username
            )
            if let question = contract.question() { helper.replaceToken(for: question) }
        case "list": try list()
        case "version":
            try StandardOutput.line("docker-credential-tokenagent (tokenagent) \(AgentRelease.version)")
        case "store":
            try refuse(
                AgentError(
                    .badRequest,
                    "cannot store a password: tokens come from the agent",
                    remedy: .run("tokenctl login NAME")
                )
            )
        default:
            try refuse(AgentError(.badRequest, "unknown operation \"\(TerminalText.escaped(operation))\""))
        }
    }

    private func list() throws {
        var servers = JSONObject()
        for entry in try helper.sessions().entries {
            servers["https://" + entry.host] = .string(entry.user ?? HostAndUser.commonUser)
        }
        try StandardOutput.json(.object(servers))
    }

    /// Prints `error` on standard output, where docker expects errors, and ends with status 1.
    private func refuse(_ error: AgentError) throws {
        try StandardOutput.line(FailureReport.line(for: error))
        throw ExitCode(1)
    }
}

/// The contract with Docker: a `get` with the bare name of a server on standard input.
struct DockerContract: HelperContract {
    private let server: String
    private let session: String?
    private let user: String?

    init(_ input: [UInt8], session: String?, user: String?) {
        // A line end may follow, but nothing after it, because the address would then be ambiguous.
        let line = input.last == 0x0A ? input.dropLast() : input[...]
        server = String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        self.session = session
        self.user = user
    }

    func question() -> CredentialRequest? {
        ServerAddress(server).map { CredentialRequest(session: session, server: $0, user: user) }
    }

    /// Formats the credential; its user must not be `<token>`, because docker would send the secret as a
    /// refresh token.
    func answer(_ credential: HelperCredential) -> String {
        let reply: JSONValue = [
            "ServerURL": .string(server), "Username": .string(credential.user),
            "Secret": .string(credential.token.value),
        ]
        return reply.text + "\n"
    }

    /// The response without a session; only after exactly this text does docker try other ways to log in.
    var nothing: HelperResponse {
        HelperResponse(output: "credentials not found in native keychain\n", status: 1)
    }

    /// Returns the error twice: docker reads standard output and continues without a login, users see
    /// standard error.
    func failure(_ error: AgentError) -> HelperResponse {
        HelperResponse(output: FailureReport.line(for: error) + "\n", complaint: error, status: 1)
    }
}
