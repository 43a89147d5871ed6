// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The completion of the options of `tokenctl add`: from the provider, else by prompts at the terminal.
struct SessionPrompts {
    private static let remedy = Remedy.set("--issuer or --provider")

    let command: AddCommand

    /// Returns the name of the session.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the name is missing and there is no terminal.
    func name() throws(AgentError) -> String {
        if let name = command.name { return name }
        return try TerminalPrompts.visible(
            "Name of the new session",
            kind: "session name",
            remedy: .run("tokenctl add NAME")
        )
    }

    /// Returns the server, which must be known before all other prompts.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the server is missing and there is no
    ///   terminal.
    func server(for file: SessionFile) throws(AgentError) -> NewSessionServer {
        let given = command.server
        var server = NewSessionServer(
            issuer: given.issuer,
            metadata: given.metadata,
            resource: given.resource,
            authority: given.caFile.map { CopiedCAFile(AbsolutePath.orGiven($0), for: file) }
        )
        if let name = given.provider?.name {
            server.provider = try Provider.named(name, beside: file.configuration)
        } else if !given.namesServer, command.grant.serviceAccountFile == nil {
            switch try provider(for: file) {
            case .known(let provider): server.provider = provider
            case .issuer(let issuer): server.issuer = issuer
            }
        }
        try fill(&server)
        let provider = server.provider
        server.kind = given.kind ?? provider?.kind ?? given.kindMeant
        // A service account gets tokens from Google's own endpoint, unless an issuer is named.
        let isServiceAccount = command.grant.serviceAccountFile != nil && server.issuer == nil
        if isServiceAccount, given.kind == nil { server.kind = .oauth2 }
        (server.roleARN, server.region) = (given.roleARN, given.region ?? provider?.region)
        if server.metadata == nil { server.issuer = server.issuer ?? provider?.issuer }
        let known = provider?.endpoints ?? []
        let written = given.endpoints
        server.endpoints = written + known.filter { one in !written.contains { $0.key == one.key } }
        if server.kind == .oauth2, given.tokenEndpoint != nil, given.revocationEndpoint == nil,
            let answer = try TerminalPrompts.atTerminal("Revocation endpoint [none]"), !answer.isEmpty
        {
            server.endpoints.append(ServerEndpointSetting("revocation_endpoint", answer))
        }
        if server.issuer == nil, server.metadata == nil, server.resource == nil, server.kind.hasIssuer {
            let (name, kind) =
                server.kind == .awsSSO ? ("Access portal", "access portal") : ("Issuer", "issuer")
            server.issuer = try TerminalPrompts.visible(
                name,
                kind: kind,
                remedy: SessionPrompts.remedy
            )
        }
        if server.kind == .awsSSO, server.region == nil {
            let prompt = "Region of IAM Identity Center, such as eu-west-1"
            server.region = try TerminalPrompts.visible(prompt, kind: "region", remedy: .set("--region"))
        }
        return server
    }

    /// Asks for the values that the provider needs, unless the issuer is given.
    private func fill(_ server: inout NewSessionServer) throws(AgentError) {
        guard var provider = server.provider else { return }
        var given = command.server.values
        let keys = provider.ownKeys.map { (name: $0, question: "Value of \($0)") }
        let values = server.issuer == nil ? provider.values : []
        for (name, question) in values.map({ ($0.name ?? "", $0.question ?? $0.name ?? "") }) + keys
        where !given.contains(where: { $0.name.bytewise == name.bytewise }) {
            let answer = try TerminalPrompts.visible(
                question,
                kind: name,
                remedy: .set("--value \(name)=TEXT")
            )
            given.append(NamedValue(name: name, value: answer))
        }
        let own = given.filter { provider.ownKeys.contains($0.name) }
        server.lines = own.compactMap { DraftLine($0.name, $0.value) }
        provider.fill(given.filter { value in !own.contains { $0.name == value.name } })
        server.provider = provider
    }

    private enum ProviderOrIssuer {
        case known(Provider)
        case issuer(String)
    }

    /// The maximum number of providers that the prompt lists.
    private static let maximumListed = 24

    /// Returns the provider that has the name of the session, or prompts for a provider by its name or a part of it,
    /// or for the URL of an issuer.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if there is no terminal or the input is empty.
    private func provider(for file: SessionFile) throws(AgentError) -> ProviderOrIssuer {
        if let provider = try Provider.ifKnown(file.name, beside: file.configuration) {
            return .known(provider)
        }
        let all = (try Provider.list(beside: file.configuration).providers ?? []).map(Provider.init(_:))
        var choices = all
        var note = ""
        while true {
            let list =
                choices.count > SessionPrompts.maximumListed
                ? "\(choices.count) providers: answer a part of the name, such as \"git\"."
                : "Providers: \(choices.map(\.name).joined(separator: " "))"
            let answer = try TerminalPrompts.visible(
                "Provider, or issuer URL",
                below: note + list,
                kind: "issuer",
                remedy: SessionPrompts.remedy
            )
            if let provider = try Provider.ifKnown(answer, beside: file.configuration) {
                return .known(provider)
            }
            // A host name has a dot, a URL a colon, and the name of a provider neither.
            if answer.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") }) {
                return .issuer(answer)
            }
            let part = answer.bytewise.lowercased
            choices = all.filter {
                $0.name.bytewise.contains(part) || $0.title.bytewise.lowercased.contains(part)
            }
            if choices.count == 1 { return .known(choices[0]) }
            note = choices.isEmpty ? "No provider matches \(answer). " : ""
            if choices.isEmpty { choices = all }
        }
    }

    /// Asks for everything but the server, and returns the new session.
    ///
    /// - Parameters:
    ///   - name: The name of the session.
    ///   - server: The server from ``server(for:)``.
    ///   - offer: The capabilities of the issuer, if it was probed.
    /// - Returns: The requested session.
    /// - Throws: ``AgentError`` with the code `badRequest` if something is missing and there is no
    ///   terminal, or a file cannot be used.
    func newSession(
        named name: String,
        at server: NewSessionServer,
        _ offer: ServerProbeMessage?
    ) throws(AgentError) -> NewSession {
        var newSession = NewSession(
            name: name,
            server: server,
            client: NewSessionClient(),
            flow: command.flow,
            scopes: command.scopes.flatMap { $0.split(separator: " ").map(String.init) },
            redirectPort: command.authorization.redirectPort,
            redirectURI: command.authorization.redirectURI,
            source: try source(for: server.provider),
            hasAssertion: command.grant.hasAssertion,
            audience: command.audience,
            resources: command.resources,
            hosts: command.hosts,
            lines: server.lines + command.grant.lines + command.authorization.lines
        )
        if server.kind.hasClients, server.provider?.hasSource != true || command.client.id != nil {
            newSession.client = try client(of: server.provider, newSession, offer)
        }
        return newSession
    }

    /// Returns the session whose tokens are exchanged, or `nil` if the new session has tokens of its own.
    private func source(for provider: Provider?) throws(AgentError) -> String? {
        guard command.grant.source == nil, provider?.hasSource == true else { return command.grant.source }
        return try TerminalPrompts.visible(
            "Session whose token is exchanged",
            kind: "session",
            remedy: .set("--from NAME")
        )
    }

    private func client(
        of provider: Provider?,
        _ newSession: NewSession,
        _ offer: ServerProbeMessage?
    ) throws(AgentError) -> NewSessionClient {
        let given = command.client
        var client = NewSessionClient(
            id: try clientID(provider, newSession, offer),
            secretFile: given.secretFile,
            givesSecret: given.readsSecret,
            keyFile: given.keyFile,
            keyID: given.keyID,
            certificateFile: given.certificateFile,
            authentication: given.authentication
        )
        let ways = offer?.authentication ?? ["none"]
        let wantsSecret = provider?.hasSecret ?? !ways.contains("none")
        guard wantsSecret, client.id != nil, client.proof.ways == ["none"],
            let path = try TerminalPrompts.atTerminal(
                "Client secret file [none]",
                below: "To type the secret instead, answer \"type\"."
            ),
            !path.isEmpty
        else { return client }
        guard path != "type" else {
            client.givesSecret = true
            return client
        }
        if let objection = ClientArguments.objection(to: path) {
            throw AgentError(.badRequest, "client secret file: \(objection)")
        }
        client.secretFile = path
        return client
    }

    /// Returns the client ID, or `nil` if the server registers a client.
    private func clientID(
        _ provider: Provider?,
        _ newSession: NewSession,
        _ offer: ServerProbeMessage?
    ) throws(AgentError) -> String? {
        if command.client.id == nil, let known = provider?.clientID { return known }
        // An assertion already identifies the client (RFC 7523 §2.1).
        if command.client.id != nil || newSession.isJWTBearer { return command.client.id }
        let isRegistered =
            offer?.features?.contains("registration") == true && !command.client.hasProof
            && newSession.flow != .login(.import) && newSession.hasLogin
        guard !isRegistered else {
            let answer = try TerminalPrompts.atTerminal("Client ID [register automatically]")
            return answer.flatMap { $0.isEmpty ? nil : $0 }
        }
        let wanted = provider?.client ?? "a client with the redirect URI http://127.0.0.1/callback"
        let page = provider?.message.registrationPage.map { " at \($0)" } ?? ""
        return try TerminalPrompts.visible(
            "Client ID",
            below: "Register \(wanted)\(page).",
            kind: "client ID",
            remedy: .set("--client-id")
        )
    }
}
