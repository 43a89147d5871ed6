// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `add`, which creates a session in a separate file next to the configuration file.
struct AddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Make a session without writing its table by hand.",
        discussion: """
            The agent looks at the issuer's metadata first; what it offers is printed, with what was chosen. What is \
            missing, the name included, is asked for at the terminal. The session is written to a file of its own, sessions.d/NAME.toml \
            beside the configuration file, after it was checked together with everything else.
            """
    )

    @Argument(help: ArgumentHelp("The name of the new session.", valueName: "name"))
    var name: String?

    @OptionGroup var server: ServerArguments

    @OptionGroup var client: ClientArguments

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp("A scope to ask for at a login; repeatable.", valueName: "scope")
    )
    var scopes: [String] = []

    @Option(help: "How to log in, or jwt_bearer.")
    var flow: AddedFlow?

    @OptionGroup var authorization: AuthorizationArguments

    @OptionGroup var grant: GrantArguments

    @Option(help: ArgumentHelp("Who the tokens are for, where the server wants that.", valueName: "name"))
    var audience: String?

    @Option(
        name: .customLong("resource"),
        help: ArgumentHelp("An address to ask for tokens for (RFC 8707); repeatable.", valueName: "url")
    )
    var resources: [String] = []

    @Option(
        name: .customLong("host"),
        help: ArgumentHelp("A server that the tokens are for; repeatable.", valueName: "host")
    )
    var hosts: [String] = []

    @Flag(name: .customLong("print"), help: "Only print the file.")
    var isPrinted = false

    @OptionGroup var agent: AgentOptions

    func validate() throws {
        let source = grant.source
        guard source == nil || flow == nil || flow == .jwtBearer else {
            throw ValidationError(
                "--from goes with no --flow but jwt_bearer: nobody logs in to such a session"
            )
        }
        guard source == nil || server.kindMeant.isStandard || server.kindMeant == .awsRole else {
            throw ValidationError("--from goes with --kind oidc, oauth2 and aws_role")
        }
        guard source != nil || server.kindMeant != .awsRole else {
            throw ValidationError("--role-arn needs --from: the session whose token the role is given for")
        }
        guard flow != .jwtBearer || grant.hasAssertion || source != nil else {
            throw ValidationError(
                "--flow jwt_bearer needs --from, --assertion-file, --assertion-key-file or --service-account-file"
            )
        }
        guard !grant.hasAssertion || server.kindMeant.isStandard && (flow == nil || flow == .jwtBearer) else {
            throw ValidationError("an assertion goes with --flow jwt_bearer, of --kind oidc and oauth2")
        }
        guard (grant.appID != nil) == (server.kindMeant == .githubApp) else {
            throw ValidationError("--app-id and --kind github_app go together")
        }
        guard resources.isEmpty || server.resource == nil else {
            throw ValidationError("--resource goes without --url, which is asked for by itself")
        }
    }

    func run() throws {
        let interview = SessionPrompts(command: self)
        let file = try SessionFile(try interview.name(), for: agent.endpoint)
        guard isPrinted || !file.exists else { throw file.taken }
        let server = try interview.server(for: file)
        // The agent reads the copy, so it must exist before the agent probes the issuer.
        try server.authority?.put()
        do {
            try add(server, interview, file)
        } catch {
            server.authority?.takeBack()
            throw error
        }
        if isPrinted { server.authority?.takeBack() }
    }

    private func add(_ wanted: NewSessionServer, _ interview: SessionPrompts, _ file: SessionFile) throws {
        var server = wanted
        let offer = try server.examined(by: agent.endpoint, for: file.name)
        for words in [offer?.resourceWords, offer?.words].compactMap(\.self) { try say(words) }
        if let spelling = server.adoptSpelling(of: offer) { try say(spelling) }
        for remark in offer?.remarks ?? [] { try say("Note: \(remark).") }
        let wish = try interview.wish(named: file.name, at: server, offer)
        let chosen = try ResolvedSession(wish, offer)
        let text = try SessionDraft(wish, chosen, offer).text
        guard !isPrinted else { return try StandardOutput.write(Array(text.utf8)) }
        let takeover = try put(file, text)
        try report(file, wish, chosen, offer, takeover.notes)
        try offerLogin(to: wish, by: chosen.flow, after: takeover.remedy)
    }

    /// Writes the file, reloads the agent and stores the client secret in its store.
    private func put(
        _ file: SessionFile,
        _ text: String
    ) throws(AgentError) -> SessionFileReload.Takeover {
        let reload = SessionFileReload(endpoint: agent.endpoint)
        // Read the secret first: without it nothing is written.
        let secret = try client.readsSecret ? ClientSecretRequest.secret() : nil
        try file.put(text)
        guard let secret else { return try reload.takeOver(file) }
        let takeover = try reload.takeOver(file)
        try reload.give(secret, to: file)
        return takeover
    }

    private func report(
        _ file: SessionFile,
        _ wish: NewSession,
        _ chosen: ResolvedSession,
        _ offer: ExaminationMessage?,
        _ notes: [String]
    ) throws(AgentError) {
        let notes = chosen.notes + notes
        guard !agent.wantsJSON else {
            let message = SessionFileMessage {
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
            wish.isRegisteredAtLogin ? "a client that the server registers at the first login" : nil,
        ]
        let words = choices.compactMap(\.self).joined(separator: "; ")
        if !words.isEmpty { try say("Chosen: \(words)") }
        for note in notes { try say("Note: \(note).") }
        try say("Written: \(file.path)")
    }

    /// Offers to log in now at a terminal; otherwise prints the command to run next.
    ///
    /// - Parameters:
    ///   - wish: The new session.
    ///   - chosen: The flow of logins.
    ///   - remedy: A command that must be run first, or `nil`.
    /// - Throws: The errors of the login and of standard output.
    private func offerLogin(
        to wish: NewSession,
        by chosen: LoginCommand.Flow?,
        after remedy: String?
    ) throws {
        guard !agent.wantsJSON else { return }
        // The agent obtains tokens that require no user by itself.
        guard wish.hasLogin, chosen != .clientCredentials else {
            let use = server.kindMeant == .awsRole ? "aws" : "get"
            let commands = [remedy, "tokenctl \(use) \(wish.name)"].compactMap(\.self)
            return try say("Use it with: \(commands.joined(separator: " && "))")
        }
        let isImported = chosen == .import
        let login = "tokenctl login \(wish.name)\(isImported ? " --refresh-token-stdin" : "")"
        guard remedy == nil, !isImported, try Question.agreement(to: "Log in now?") == true else {
            let commands = [remedy, login].compactMap(\.self)
            return try say("Log in with: \(commands.joined(separator: " && "))")
        }
        let conversation = LoginProgressClient(
            session: wish.name,
            opensBrowser: true,
            isJSON: false,
            endpoint: agent.endpoint
        )
        let body = JSONBody<LoginMembers>().finished()
        try conversation.logIn(AgentRequest(.post, "sessions", wish.name, "login", body: body))
    }

    /// Prints a line for the user, unless a program reads the output.
    private func say(_ text: String) throws(AgentError) {
        guard !agent.wantsJSON, !isPrinted else { return }
        try StandardOutput.line(TerminalText.escaped(text, longest: 8192))
    }
}
