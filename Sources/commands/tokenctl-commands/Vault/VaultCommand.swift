// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `vault`, with subcommands for the unlock methods of the store.
struct VaultCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Manage the unlock methods of the store.",
        subcommands: [
            VaultInitCommand.self, VaultPasswdCommand.self, VaultSlotsCommand.self, VaultRekeyCommand.self,
        ]
    )
}

extension SlotKind: ExpressibleByArgument {}

/// The options that describe one unlock method.
struct VaultSlotOptions: ParsableArguments {
    @Option(help: "The unlock method.")
    var type = SlotKind.passphrase

    @Option(help: ArgumentHelp("The key file; created if it does not exist.", valueName: "file"))
    var path: String?

    @Option(help: ArgumentHelp("The name of the systemd credential.", valueName: "name"))
    var credential: String?

    @Flag(
        name: .customLong("passphrase-stdin"),
        help:
            "Read passphrases from standard input, one per line: the current one if there is one, then the new one."
    )
    var readsPassphrase = false

    @OptionGroup var proof: VaultProofOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp(
            "After --, with --type command: the program that prints the key.",
            valueName: "command"
        )
    )
    var command: [String] = []

    func validate() throws {
        guard (type == .command) == (!command.isEmpty) else {
            throw ValidationError("--type command and a command after -- require each other")
        }
        guard (type == .systemdCredential) == (credential != nil) else {
            throw ValidationError("--credential and --type systemd-cred require each other")
        }
        guard path == nil || type == .keyFile else {
            throw ValidationError("--path requires --type keyfile")
        }
    }

    /// Makes the agent create this unlock method by `POST /v1/vault/PATH`, with prompts for the required
    /// passphrases.
    func make(by path: String, at endpoint: AgentEndpoint) throws {
        var body = AgentRequestBody<SlotAdditionRequestMembers>()
        try ProofPrompt.add(to: &body, for: endpoint, proof, fromStandardInput: readsPassphrase)
        body.add(\.type, type.rawValue)
        if let file = self.path { body.add(\.path, try absolute(file)) }
        if let credential { body.add(\.credential, credential) }
        if !command.isEmpty { body.add(\.command, command) }
        if type == .passphrase {
            body.add(\.passphrase, secret: try VaultPassphrase.new(fromStandardInput: readsPassphrase))
        }
        var request = AgentRequest(.post, "vault", path, body: body.finished())
        defer { request.wipeBody() }
        try endpoint.send(request)
    }

    /// The options as they were given, with a space before each.
    var words: String {
        guard type != .passphrase else { return "" }
        let options = [("--path", path), ("--credential", credential)].compactMap { name, value in
            value.map { " \(name) \(ShellWord.quoted($0))" }
        }
        let program = command.isEmpty ? "" : " -- " + command.map(ShellWord.quoted).joined(separator: " ")
        return " --type \(type.rawValue)" + options.joined() + program
    }

    /// Makes `path` absolute, because the agent runs in another directory.
    private func absolute(_ path: String) throws(AgentError) -> String {
        try AgentEndpoint(socket: path).socketPath
    }
}

/// The command `vault init`, which selects the unlock method of a new store.
struct VaultInitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Replace the automatic key file of a store without sessions."
    )

    @OptionGroup var slot: VaultSlotOptions
    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        do {
            try slot.make(by: "init", at: agent.endpoint)
        } catch var error as AgentError {
            // The same unlock method can be added to a store that has sessions.
            if error.remedy == .run("tokenctl vault slots add") {
                error.remedy = .run("tokenctl vault slots add\(slot.words)")
            }
            throw error
        }
    }
}

/// The command `vault passwd`, which changes the passphrase.
struct VaultPasswdCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passwd",
        abstract: "Change the passphrase of the store."
    )

    @Flag(
        name: .customLong("passphrase-stdin"),
        help: "Read the old and the new passphrase from standard input, one per line."
    )
    var readsPassphrases = false

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        var body = AgentRequestBody<PassphraseChangeRequestMembers>()
        if readsPassphrases {
            body.add(\.old, secret: try line("old passphrase"))
            body.add(\.new, secret: try line("new passphrase"))
        } else {
            body.add(\.old, secret: try VaultPassphrase.present())
            body.add(\.new, secret: try VaultPassphrase.new(fromStandardInput: false))
        }
        var request = AgentRequest(.post, "vault", "passwd", body: body.finished())
        defer { request.wipeBody() }
        try agent.endpoint.send(request)
    }

    private func line(_ kind: String) throws(AgentError) -> Secret {
        try Secret(try StandardInput.line() ?? [], of: kind)
    }
}

/// The command `vault rekey`, which seals the store under a new key.
struct VaultRekeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract: "Encrypt the store with a new key."
    )

    @Flag(
        name: .customLong("passphrase-stdin"),
        help: "Read the passphrase of the store from standard input."
    )
    var readsPassphrase = false

    @OptionGroup var proof: VaultProofOptions
    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        var body = AgentRequestBody<RekeyRequestMembers>()
        // The new key must be wrapped for every unlock method, and only the user knows a passphrase.
        try ProofPrompt.add(to: &body, for: agent.endpoint, proof, fromStandardInput: readsPassphrase)
        var request = AgentRequest(.post, "vault", "rekey", body: body.finished())
        defer { request.wipeBody() }
        try agent.endpoint.send(request, timeout: .seconds(300))
    }
}
