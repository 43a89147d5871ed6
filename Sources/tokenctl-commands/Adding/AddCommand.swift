// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// Makes a session, in a file of its own beside the configuration file.
struct AddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Make a session without writing its table by hand.",
        discussion: """
            The agent looks at the issuer's metadata first; what it offers is printed, with what was chosen. What is \
            missing is asked for at the terminal. The session is written to a file of its own, sessions.d/NAME.toml \
            beside the configuration file, after it was checked together with everything else.
            """
    )

    @Argument(help: ArgumentHelp("The name of the new session.", valueName: "name"))
    var name: String

    @OptionGroup var server: ServerArguments

    @OptionGroup var client: ClientArguments

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp("A scope to ask for at a login; repeatable.", valueName: "scope")
    )
    var scopes: [String] = []

    @Option(help: "How to log in.")
    var flow: LoginCommand.Flow?

    @Option(
        name: .customLong("redirect-port"),
        help: ArgumentHelp("The port of the redirect address, if the server wants one.", valueName: "n")
    )
    var redirectPort: Int?

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp("The redirect address exactly as registered.", valueName: "url")
    )
    var redirectURI: String?

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp("The session whose token is exchanged for this one's.", valueName: "session")
    )
    var source: String?

    @Option(help: ArgumentHelp("Who the tokens are for, where the server wants that.", valueName: "name"))
    var audience: String?

    @Flag(name: .customLong("print"), help: "Only print the file.")
    var isPrinted = false

    @OptionGroup var agent: AgentOptions

    func validate() throws {
        guard redirectPort == nil || redirectURI == nil else {
            throw ValidationError("--redirect-port and --redirect-uri exclude each other")
        }
        guard source == nil || flow == nil else {
            throw ValidationError("--from goes with no --flow: nobody logs in to such a session")
        }
        guard source == nil || server.kindMeant.isStandard || server.kindMeant == .awsRole else {
            throw ValidationError("--from goes with --kind oidc, oauth2 and aws_role")
        }
        guard source != nil || server.kindMeant != .awsRole else {
            throw ValidationError("--role-arn needs --from: the session whose token the role is given for")
        }
    }

    func run() throws {
        let file = try SessionFile(name, for: agent.endpoint)
        guard isPrinted || !file.exists else { throw file.taken }
        let interview = SessionInterview(command: self)
        let server = try interview.server()
        let offer = try server.examined(by: agent.endpoint)
        for words in [offer?.resourceWords, offer?.words].compactMap(\.self) { try say(words) }
        let wish = try interview.wish(at: server, offer)
        let chosen = try ChosenSession(wish, offer)
        let text = try SessionDraft(wish, chosen, offer).text
        guard !isPrinted else { return try StandardOutput.write(Array(text.utf8)) }
        let takeover = try put(file, text)
        try report(file, wish, chosen, offer, takeover.notes)
        try offerLogin(by: chosen.flow, after: takeover.remedy)
    }

    /// Puts the file in place, and what belongs to it into the agent's store.
    private func put(_ file: SessionFile, _ text: String) throws(AgentError) -> SessionFileReload.Takeover {
        let reload = SessionFileReload(endpoint: agent.endpoint)
        guard client.readsSecret else {
            try file.put(text)
            return try reload.takeOver(file)
        }
        // Without a secret there is nothing to write.
        let secret = try ClientSecretRequest.secret()
        try file.put(text)
        let takeover = try reload.takeOver(file)
        try reload.give(secret, to: file)
        return takeover
    }

    private func report(
        _ file: SessionFile,
        _ wish: SessionWish,
        _ chosen: ChosenSession,
        _ offer: ExaminationMessage?,
        _ notes: [String]
    ) throws(AgentError) {
        let notes = chosen.notes + notes
        guard !agent.wantsJSON else {
            let message = SessionFileMessage {
                $0.session = name
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

    /// Asks at a terminal whether to log in now; elsewhere, and where nobody has to, names the command that comes next.
    ///
    /// - Parameters:
    ///   - chosen: how logins are made.
    ///   - remedy: a command that has to be run first, if there is one.
    /// - Throws: as the login does.
    private func offerLogin(by chosen: LoginCommand.Flow?, after remedy: String?) throws {
        guard !agent.wantsJSON else { return }
        // What needs no person the agent gets by itself.
        guard source == nil, chosen != .clientCredentials else {
            let use = server.kindMeant == .awsRole ? "aws" : "get"
            let commands = [remedy, "tokenctl \(use) \(name)"].compactMap(\.self).joined(separator: " && ")
            return try say("Use it with: \(commands)")
        }
        let commands = [remedy, "tokenctl login \(name)"].compactMap(\.self).joined(separator: " && ")
        guard remedy == nil, flow != .import, try Question.agreement(to: "Log in now?") == true else {
            return try say("Log in with: \(commands)")
        }
        let conversation = LoginConversation(
            session: name,
            opensBrowser: true,
            isJSON: false,
            endpoint: agent.endpoint
        )
        let body = JSONBody<LoginMembers>().finished()
        try conversation.logIn(AgentRequest(.post, "sessions", name, "login", body: body))
    }

    /// Prints a line for the person, unless a program is reading.
    private func say(_ text: String) throws(AgentError) {
        guard !agent.wantsJSON, !isPrinted else { return }
        try StandardOutput.line(TerminalText.escaped(text, longest: 8192))
    }
}
