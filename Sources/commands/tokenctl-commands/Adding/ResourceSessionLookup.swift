// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The lookup or creation of the session for `tokenctl login` with the URL of a protected resource.
struct ResourceSessionLookup {
    let address: ResourceAddress
    /// The issuer that the user named.
    let issuer: String?
    let endpoint: AgentEndpoint
    let isJSON: Bool

    /// A session, and the issuer that its resource must name at the login.
    ///
    /// The issuer is `nil` if the table of the session names it or the user named none.
    typealias Found = (session: String, issuer: String?)

    /// Returns the session for the address, or creates one after the user has confirmed its issuer.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if there is no terminal, or the session has
    ///   another issuer.
    func session() throws(AgentError) -> Found {
        let answer: SessionsMessage = try endpoint.message(AgentRequest(.get, "sessions"))
        let sessions = answer.sessions ?? []
        if let known = address.session(among: sessions) {
            return (known, try issuerToName(of: known, among: sessions))
        }
        let name = try freeName(besides: sessions.compactMap(\.session))
        var server = NewSessionServer(issuer: issuer, resource: address.text)
        let offer: ServerProbeMessage?
        do throws(AgentError) {
            offer = try server.examined(by: endpoint, for: name)
        } catch {
            throw untrusted(error, name)
        }
        for words in [offer?.resourceWords, offer?.words].compactMap(\.self) { try say(words) }
        guard offer?.features?.contains("registration") == true else {
            throw AgentError(
                .badRequest,
                "the issuer does not support dynamic client registration",
                remedy: .run("tokenctl add \(name) --url \(ShellWord.quoted(address.text)) --client-id ID")
            )
        }
        try confirm(offer)
        // An issuer that the user confirmed is for this login only; an issuer that the user named is for all
        // logins.
        server.issuer = issuer
        let newSession = NewSession(name: name, server: server, client: NewSessionClient())
        let draft = try SessionDraft(newSession, try FlowAndScopes(newSession, offer), offer)
        let file = try SessionFile(name, for: endpoint)
        try file.put(draft.text)
        let takeover = try SessionFileReload(endpoint: endpoint).apply(file)
        for note in takeover.notes { try say("Note: \(note)") }
        try say("Created session \"\(name)\" in \(file.path)")
        return (name, issuer == nil ? offer?.issuer : nil)
    }

    /// Returns `error` with the command that creates the session with a CA, if the server's is not known.
    private func untrusted(_ error: AgentError, _ name: String) -> AgentError {
        guard let remedy = error.remedy, remedy.kind == .set, remedy.text.bytewise.hasPrefix("ca_file") else {
            return error
        }
        var error = error
        error.remedy = .run("tokenctl add \(name) --url \(ShellWord.quoted(address.text)) --ca-file FILE")
        return error
    }

    /// Returns the issuer from the command line if the login must check it because the session's table names
    /// none.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the table names another issuer.
    private func issuerToName(
        of name: String,
        among sessions: [SessionMessage]
    ) throws(AgentError) -> String? {
        guard let issuer, let session = sessions.first(where: { $0.session == name }) else { return nil }
        // A session without an issuer is shown with the resource's address.
        guard let own = session.issuer, own.bytewise != session.resource?.bytewise else { return issuer }
        guard own.bytewise != issuer.bytewise else { return nil }
        throw AgentError(
            .badRequest,
            "the session for this URL uses the issuer \(own), not \(issuer)",
            session: name,
            remedy: .set("issuer = \"\(issuer)\" in [session.\(name)], then run tokenctl login \(name)")
        )
    }

    /// Asks the user to confirm the issuer that the resource named, unless the command line names the same
    /// one.
    private func confirm(_ offer: ServerProbeMessage?) throws(AgentError) {
        let found = offer?.issuer ?? ""
        if let issuer, issuer.bytewise == found.bytewise { return }
        // With --json the user has not seen what to confirm.
        let question = "Create a session and log in to this issuer?"
        switch try isJSON ? nil : TerminalPrompts.agreement(to: question, emptyAgrees: false) {
        case true?: return
        case false?: throw AgentError(.denied, "no session created")
        case nil:
            throw AgentError(
                .badRequest,
                "cannot prompt to confirm the issuer: \(isJSON ? "--json was given" : "not a terminal")",
                remedy: .run(
                    "tokenctl login \(ShellWord.quoted(address.text)) --issuer \(ShellWord.quoted(found))"
                )
            )
        }
    }

    /// Returns a name derived from the host that neither a session nor a file has.
    private func freeName(besides taken: [String]) throws(AgentError) -> String {
        for number in 1..<100 {
            let name = number == 1 ? address.name : "\(address.name)-\(number)"
            if !taken.contains(name), try !SessionFile(name, for: endpoint).exists { return name }
        }
        throw AgentError(
            .badRequest,
            "all names derived from the host are in use",
            remedy: .run("tokenctl add NAME --url \(ShellWord.quoted(address.text))")
        )
    }

    /// Prints a line for the user, unless a program reads the output.
    private func say(_ text: String) throws(AgentError) {
        guard !isJSON else { return }
        try StandardOutput.line(TerminalText.escaped(text, longest: 8192))
    }
}
