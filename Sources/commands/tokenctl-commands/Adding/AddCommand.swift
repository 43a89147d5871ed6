// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `add`, which creates a session in a separate file next to the configuration file.
struct AddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Create a session.",
        discussion: """
            The agent reads the issuer's metadata first. The features of the issuer and the choices are \
            printed. At a terminal, missing values are prompted for, also the name. The session is checked \
            together with the rest of the configuration and written to sessions.d/NAME.toml next to the \
            configuration file.
            """
    )

    @Argument(help: ArgumentHelp("The name of the new session.", valueName: "name"))
    var name: String?

    @OptionGroup var server: ServerArguments

    @OptionGroup var client: ClientArguments

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp("A scope to request at a login; repeatable.", valueName: "scope")
    )
    var scopes: [String] = []

    @Option(help: "The login flow, or jwt_bearer.")
    var flow: NewSessionFlow?

    @OptionGroup var authorization: AuthorizationArguments

    @OptionGroup var grant: TokenSourceArguments

    @Option(help: ArgumentHelp("The audience of the tokens, if the server requires one.", valueName: "name"))
    var audience: String?

    @Option(
        name: .customLong("resource"),
        help: ArgumentHelp("A resource to request tokens for (RFC 8707); repeatable.", valueName: "url")
    )
    var resources: [String] = []

    @Option(
        name: .customLong("host"),
        help: ArgumentHelp("A server that the tokens are for; repeatable.", valueName: "host")
    )
    var hosts: [String] = []

    @Flag(name: .customLong("print"), help: "Print the file and write nothing.")
    var isPrinted = false

    @OptionGroup var agent: AgentAndOutputOptions

    func validate() throws {
        let source = grant.source
        guard source == nil || flow == nil || flow == .jwtBearer else {
            throw ValidationError("--from cannot be combined with a --flow other than jwt_bearer")
        }
        guard source == nil || server.kindMeant.isStandard || server.kindMeant == .awsRole else {
            throw ValidationError("--from requires --kind oidc, oauth2 or aws_role")
        }
        guard source != nil || server.kindMeant != .awsRole else {
            throw ValidationError("--role-arn requires --from")
        }
        guard flow != .jwtBearer || grant.hasAssertion || source != nil else {
            throw ValidationError(
                "--flow jwt_bearer requires --from, --assertion-file, --assertion-key-file or --service-account-file"
            )
        }
        guard !grant.hasAssertion || server.kindMeant.isStandard && (flow == nil || flow == .jwtBearer) else {
            throw ValidationError("an assertion requires --flow jwt_bearer and --kind oidc or oauth2")
        }
        guard server.provider != nil || (grant.appID != nil) == (server.kindMeant == .githubApp) else {
            throw ValidationError("--app-id and --kind github_app require each other")
        }
        guard resources.isEmpty || server.resource == nil else {
            throw ValidationError("--resource cannot be combined with --url")
        }
    }

    func run() throws {
        let prompts = SessionPrompts(command: self)
        let file = try SessionFile(try prompts.name(), for: agent.endpoint)
        guard isPrinted || !file.exists else { throw file.taken }
        let server = try prompts.server(for: file)
        // The agent reads the copy, so it must exist before the agent probes the issuer.
        try server.authority?.put()
        do {
            try add(server, prompts, file)
        } catch {
            server.authority?.takeBack()
            throw error
        }
        if isPrinted { server.authority?.takeBack() }
    }

    private func add(_ wanted: NewSessionServer, _ prompts: SessionPrompts, _ file: SessionFile) throws {
        var server = wanted
        let offer = try server.examined(by: agent.endpoint, for: file.name)
        for words in [offer?.resourceWords, offer?.words].compactMap(\.self) { try say(words) }
        if let spelling = server.adoptSpelling(of: offer) { try say(spelling) }
        for remark in offer?.remarks ?? [] { try say("Note: \(remark)") }
        let newSession = try prompts.newSession(named: file.name, at: server, offer)
        let chosen = try FlowAndScopes(newSession, offer)
        let text = try SessionDraft(newSession, chosen, offer).text
        guard !isPrinted else { return try StandardOutput.write(Array(text.utf8)) }
        let takeover = try put(file, text, withSecret: newSession.client.givesSecret)
        try report(file, newSession, chosen, offer, takeover.notes)
        try offerLogin(to: newSession, by: chosen.flow, after: takeover.remedy)
    }

    /// Writes the file, reloads the agent and stores the client secret in its store.
    private func put(
        _ file: SessionFile,
        _ text: String,
        withSecret isGiven: Bool
    ) throws(AgentError) -> SessionFileReload.NotesAndRemedy {
        let reload = SessionFileReload(endpoint: agent.endpoint)
        // Read the secret first: without it nothing is written.
        let secret = try isGiven ? ClientSecretStorageRequest.secret() : nil
        try file.put(text)
        guard let secret else { return try reload.apply(file) }
        let takeover = try reload.apply(file)
        try reload.give(secret, to: file)
        return takeover
    }

    private func report(
        _ file: SessionFile,
        _ newSession: NewSession,
        _ chosen: FlowAndScopes,
        _ offer: ServerProbeMessage?,
        _ notes: [String]
    ) throws(AgentError) {
        let notes = chosen.notes + notes
        guard !agent.wantsJSON else {
            let message = ChangedSessionFileMessage {
                $0.session = file.name
                $0.file = file.path
                $0.flow = chosen.flow?.rawValue
                $0.scopes = chosen.scopes
                $0.offer = offer
                $0.notes = notes.isEmpty ? nil : notes
            }
            return try StandardOutput.json(message.json)
        }
        let choices = [
            chosen.flow.map { "flow \($0.rawValue)" },
            chosen.scopes.isEmpty ? nil : "scopes \(chosen.scopes.joined(separator: " "))",
            newSession.isRegisteredAtLogin ? "client registered at the first login" : nil,
        ]
        let words = choices.compactMap(\.self).joined(separator: "; ")
        if !words.isEmpty { try say("Chosen: \(words)") }
        for note in notes { try say("Note: \(note)") }
        try say("Created session \"\(file.name)\" in \(file.path)")
    }

    /// Offers to log in now at a terminal; otherwise prints the command to run next.
    ///
    /// - Parameters:
    ///   - newSession: The new session.
    ///   - chosen: The flow of logins.
    ///   - remedy: The command that must be run first, or `nil`.
    /// - Throws: The errors of the login and of standard output.
    private func offerLogin(
        to newSession: NewSession,
        by chosen: LoginCommand.Flow?,
        after remedy: Remedy?
    ) throws {
        guard !agent.wantsJSON else { return }
        // The agent obtains tokens that require no user by itself.
        guard newSession.hasLogin, chosen != .clientCredentials else {
            let use = server.kindMeant == .awsRole ? "aws" : "get"
            return try sayNext("tokenctl \(use) \(newSession.name)", after: remedy)
        }
        let isImported = chosen == .import
        let login = "tokenctl login \(newSession.name)\(isImported ? " --refresh-token-stdin" : "")"
        guard remedy == nil, !isImported, try TerminalPrompts.agreement(to: "Log in now?") == true else {
            return try sayNext(login, after: remedy)
        }
        let conversation = LoginProgressClient(
            session: newSession.name,
            opensBrowser: true,
            isJSON: false,
            endpoint: agent.endpoint
        )
        let body = AgentRequestBody<LoginRequestMembers>().finished()
        try conversation.logIn(AgentRequest(.post, "sessions", newSession.name, "login", body: body))
    }

    /// Prints the command to run next, after the command of `remedy` if there is one.
    private func sayNext(_ command: String, after remedy: Remedy?) throws(AgentError) {
        let commands = [remedy?.text, command].compactMap(\.self).joined(separator: " && ")
        try say(Remedy.run(commands).indented)
    }

    /// Prints a line for the user, unless a program reads the output.
    private func say(_ text: String) throws(AgentError) {
        guard !agent.wantsJSON, !isPrinted else { return }
        try StandardOutput.line(TerminalText.escaped(text, longest: 8192))
    }
}
