// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// The completion of the options of `tokenctl add`: from the preset, else by prompts at the terminal.
struct SessionPrompts {
    let command: AddCommand

    /// Returns the name of the session.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the name is missing and there is no terminal.
    func name() throws(AgentError) -> String {
        if let name = command.name { return name }
        return try Question.visible("Name of the new session", kind: "name", option: "tokenctl add NAME")
    }

    /// Returns the server, which must be known before all other prompts.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the server is missing and there is no
    ///   terminal.
    func server(for file: SessionFile) throws(AgentError) -> NewSessionServer {
        let given = command.server
        var server = NewSessionServer(
            preset: given.preset,
            issuer: given.issuer,
            metadata: given.metadata,
            resource: given.resource,
            authority: given.caFile.map { CopiedAuthority($0, for: file) }
        )
        if !given.namesServer, command.grant.serviceAccountFile == nil {
            let answer = try Question.visible(
                "Provider (\(Preset.allValueStrings.joined(separator: ", "))), or the address of an issuer",
                kind: "issuer",
                option: "--issuer or --preset"
            )
            server.preset = Preset(argument: answer)
            if server.preset == nil { server.issuer = answer }
        }
        let preset = server.preset
        server.kind = given.kind ?? preset?.kind ?? given.kindMeant
        // A service account gets tokens from Google's own endpoint, unless an issuer is named.
        let isServiceAccount = command.grant.serviceAccountFile != nil && server.issuer == nil
        if isServiceAccount, given.kind == nil { server.kind = .oauth2 }
        (server.roleARN, server.region) = (given.roleARN, given.region)
        if server.metadata == nil { server.issuer = server.issuer ?? preset?.issuer }
        let known = server.kind == .oauth2 ? preset?.endpoints ?? [] : []
        let written = given.endpoints
        server.endpoints = written + known.filter { one in !written.contains { $0.key == one.key } }
        if server.kind == .oauth2, given.tokenEndpoint != nil, given.revocationEndpoint == nil,
            let answer = try Question.atTerminal("Revocation endpoint (empty: it has none)"), !answer.isEmpty
        {
            server.endpoints.append(KnownEndpoint("revocation_endpoint", answer))
        }
        if server.issuer == nil, server.metadata == nil, server.resource == nil, server.kind.hasIssuer {
            let form = preset.map { ", such as \($0.issuerForm)" } ?? ""
            let (name, kind) =
                server.kind == .awsSSO ? ("Access portal", "access portal") : ("Issuer", "issuer")
            server.issuer = try Question.visible(name + form, kind: kind, option: "--issuer\(form)")
        }
        if server.kind == .awsSSO, server.region == nil {
            let prompt = "Region of IAM Identity Center, such as eu-west-1"
            server.region = try Question.visible(prompt, kind: "region", option: "--region")
        }
        return server
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
    func wish(
        named name: String,
        at server: NewSessionServer,
        _ offer: ExaminationMessage?
    ) throws(AgentError) -> NewSession {
        var wish = NewSession(
            name: name,
            server: server,
            client: NewSessionClient(),
            flow: command.flow,
            scopes: command.scopes,
            redirectPort: command.authorization.redirectPort,
            redirectURI: command.authorization.redirectURI,
            source: command.grant.source,
            hasAssertion: command.grant.hasAssertion,
            audience: command.audience,
            resources: command.resources,
            hosts: command.hosts,
            lines: command.grant.lines + command.authorization.lines
        )
        if server.kind.hasClients { wish.client = try client(of: server.preset, wish, offer) }
        return wish
    }

    private func client(
        of preset: Preset?,
        _ wish: NewSession,
        _ offer: ExaminationMessage?
    ) throws(AgentError) -> NewSessionClient {
        let given = command.client
        var client = NewSessionClient(
            id: try clientID(preset, wish, offer),
            secretFile: given.secretFile,
            givesSecret: given.readsSecret,
            keyFile: given.keyFile,
            keyID: given.keyID,
            certificateFile: given.certificateFile,
            authentication: given.authentication
        )
        let ways = offer?.authentication ?? ["none"]
        let wantsSecret = preset?.hasSecret ?? !ways.contains("none")
        guard wantsSecret, client.id != nil, client.proof.ways == ["none"],
            let path = try Question.atTerminal("File with the client's secret (empty: it has none)"),
            !path.isEmpty
        else { return client }
        if let objection = ClientArguments.objection(to: path) {
            throw AgentError(.badRequest, "the client's secret: \(objection)")
        }
        client.secretFile = path
        return client
    }

    /// Returns the client ID, or `nil` if the server registers a client.
    private func clientID(
        _ preset: Preset?,
        _ wish: NewSession,
        _ offer: ExaminationMessage?
    ) throws(AgentError) -> String? {
        // An assertion already identifies the client (RFC 7523 §2.1).
        if command.client.id != nil || wish.isJWTBearer { return command.client.id }
        let isRegistered =
            offer?.features?.contains("registration") == true && !command.client.hasProof
            && wish.flow != .login(.import) && wish.hasLogin
        guard !isRegistered else {
            let answer = try Question.atTerminal("Client ID (empty: the server registers one)")
            return answer.flatMap { $0.isEmpty ? nil : $0 }
        }
        let hint = preset?.client ?? "registered with the redirect address http://127.0.0.1/callback"
        return try Question.visible("Client ID (\(hint))", kind: "client id", option: "--client-id")
    }
}
