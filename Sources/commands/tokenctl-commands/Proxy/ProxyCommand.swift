// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `proxy`, which serves local addresses through which programs use a server without having a
/// token.
struct ProxyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxy",
        abstract:
            "Serve the [[proxy]] and [[endpoint]] tables, or one session's API, to programs without a token.",
        discussion: """
            Runs in the foreground. With a command after --, serves while the command runs and passes it the address \
            in TOKENAGENT_PROXY_URL; the exit status is the command's. SIGHUP reloads the tables.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Serve only this table; with --upstream, use this session.",
            valueName: "name"
        )
    )
    var name: SessionArgument?

    @Option(help: ArgumentHelp("Forward requests to this server, without a table.", valueName: "url"))
    var upstream: String?

    @Option(
        help: ArgumentHelp(
            "Listen at a path, 127.0.0.1:PORT or [::1]:PORT; port 0 selects a free port.",
            valueName: "address"
        )
    )
    var listen: String?

    @OptionGroup var variant: VariantOptions

    @Option(
        name: .customLong("path"),
        help: ArgumentHelp(
            "Forward only this path; * at its end matches anything; repeatable.",
            valueName: "path"
        )
    )
    var paths: [String] = []

    @Option(
        name: .customLong("method"),
        help: ArgumentHelp("Forward only this method; repeatable.", valueName: "method")
    )
    var methods: [String] = []

    @Option(
        name: .customLong("ca-file"),
        help: ArgumentHelp("Also trust the certificate authorities in this file.", valueName: "file")
    )
    var authorityFile: String?

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Set this variable to the address, for the command.", valueName: "variable")
    )
    var variable: String?

    @Option(help: ArgumentHelp("Read the tables of this file instead.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("Serve metrics at this address, under /metrics.", valueName: "address"))
    var metrics: String?

    @Flag(name: .customLong("access-log"), help: "Write a line for each request to standard error.")
    var logsAccess = false

    @OptionGroup var agent: AgentAndOutputOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("After --: a program and its arguments.", valueName: "command")
    )
    var command: [String] = []

    func validate() throws {
        guard config?.isEmpty != true else { throw ValidationError("--config requires a path") }
        guard authorityFile?.isEmpty != true else { throw ValidationError("--ca-file requires a path") }
        guard upstream == nil || name != nil else { throw ValidationError("--upstream requires a session") }
        guard upstream == nil || config == nil else {
            throw ValidationError("--config cannot be combined with --upstream")
        }
        let hasKeys = listen != nil || !paths.isEmpty || !methods.isEmpty || authorityFile != nil
        guard upstream != nil || !hasKeys && variant.scopes.isEmpty && variant.audience == nil else {
            throw ValidationError(
                "--listen, --scope, --audience, --path, --method and --ca-file require --upstream"
            )
        }
        guard variable == nil || !command.isEmpty else {
            throw ValidationError("--env requires a command after --")
        }
        guard variable.map(VariableNameSyntax.isValid) ?? true else {
            throw ValidationError("--env requires the name of a variable")
        }
        guard command.first?.isEmpty != true else { throw ValidationError("missing command after --") }
        guard command.isEmpty || name != nil else {
            throw ValidationError("a command requires the name of one table or session before --")
        }
    }

    func run() throws {
        // A proxy cannot serve any request without an agent.
        _ = try agent.endpoint.connect()
        var tables = ConfiguredListenersReader(endpoint: agent.endpoint, file: config)
        if let upstream {
            tables.proxy = AdHocProxy(keys: table, session: name?.name ?? "", upstream: upstream)
        } else {
            tables.name = name?.name
        }
        let run = ListenerRun(tables: tables, logsAccess: logsAccess, metrics: metrics)
        let status =
            if command.isEmpty {
                try run.serve { places throws(AgentError) in try tell(places) }
            } else {
                try run.serve(around: command, variable ?? "TOKENAGENT_PROXY_URL")
            }
        if status != 0 { throw ExitCode(status) }
    }

    /// Prints the address of each listener.
    private func tell(_ places: [ListeningPlaceMessage]) throws(AgentError) {
        guard !agent.wantsJSON else {
            return try StandardOutput.json(ListeningResultMessage { $0.listening = places }.json)
        }
        for place in places { try StandardOutput.line("\(place.name ?? "") \(place.url ?? "")") }
    }

    /// The keys of the `[[proxy]]` table, in TOML.
    private var table: String {
        var lines = [
            "name = \(SessionDraft.quoted(name?.name ?? ""))",
            "session = \(SessionDraft.quoted(name?.name ?? ""))",
        ]
        func add(_ key: String, _ value: String?) {
            if let value { lines.append("\(key) = \(SessionDraft.quoted(value))") }
        }
        func add(_ key: String, _ values: [String]) {
            guard !values.isEmpty else { return }
            lines.append("\(key) = [\(values.map(SessionDraft.quoted).joined(separator: ", "))]")
        }
        add("upstream", upstream)
        add("listen", listen ?? "127.0.0.1:0")
        add("scopes", variant.scopes)
        add("audience", variant.audience)
        add("paths", paths)
        add("methods", methods)
        // The shell does not expand the home directory in --ca-file=~/ca.pem.
        add("ca_file", authorityFile.map { $0.hasPrefix("~/") ? $0 : AbsolutePath.orGiven($0) })
        return lines.joined(separator: "\n") + "\n"
    }
}
