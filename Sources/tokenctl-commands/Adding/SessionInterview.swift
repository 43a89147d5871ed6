// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// Completes what the options of `tokenctl add` say: from the preset, else by asking at the terminal.
struct SessionInterview {
    let command: AddCommand

    /// The server, which has to be known before anything else is asked.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` where it is missing and nobody can be asked.
    func server() throws(AgentError) -> WishedServer {
        let given = command.server
        var server = WishedServer(
            preset: given.preset,
            issuer: given.issuer,
            resource: given.resource,
            caFile: given.caFile
        )
        if !given.namesServer {
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
        (server.roleARN, server.region) = (given.roleARN, given.region)
        server.issuer = server.issuer ?? preset?.issuer
        let known = server.kind == .oauth2 ? preset?.endpoints ?? [] : []
        let written = given.endpoints
        server.endpoints = written + known.filter { one in !written.contains { $0.key == one.key } }
        if server.issuer == nil, server.resource == nil, ![.oauth2, .awsRole].contains(server.kind) {
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

    /// All the rest.
    ///
    /// - Parameters:
    ///   - server: as above.
    ///   - offer: what its issuer offers, if it was asked.
    /// - Returns: the session that is wanted.
    /// - Throws: as above.
    func wish(at server: WishedServer, _ offer: ExaminationMessage?) throws(AgentError) -> SessionWish {
        let client = try server.kind.hasClients ? client(of: server.preset, offer) : WishedClient()
        return SessionWish(
            name: command.name,
            server: server,
            client: client,
            flow: command.flow,
            scopes: command.scopes,
            redirectPort: command.redirectPort,
            redirectURI: command.redirectURI,
            source: command.source,
            audience: command.audience
        )
    }

    private func client(
        of preset: Preset?,
        _ offer: ExaminationMessage?
    ) throws(AgentError) -> WishedClient {
        let given = command.client
        var client = WishedClient(
            id: try clientID(preset, offer),
            secretFile: given.secretFile,
            givesSecret: given.readsSecret,
            keyFile: given.keyFile,
            keyID: given.keyID,
            certificateFile: given.certificateFile
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

    /// The client; nil if the server is to register one.
    private func clientID(
        _ preset: Preset?,
        _ offer: ExaminationMessage?
    ) throws(AgentError) -> String? {
        if let given = command.client.id { return given }
        let isRegistered =
            offer?.features?.contains("registration") == true && !command.client.hasProof
            && command.flow != .import && command.source == nil
        guard !isRegistered else {
            let answer = try Question.atTerminal("Client ID (empty: the server registers one)")
            return answer.flatMap { $0.isEmpty ? nil : $0 }
        }
        let hint = preset?.client ?? "registered with the redirect address http://127.0.0.1/callback"
        return try Question.visible("Client ID (\(hint))", kind: "client id", option: "--client-id")
    }
}
