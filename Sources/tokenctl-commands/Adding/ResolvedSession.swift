// SPDX-License-Identifier: MIT

import AgentProtocol

/// What is chosen for a session: what a person said, else what the preset knows, as far as the issuer offers it.
struct ResolvedSession {
    /// nil: the default of the kind.
    let flow: LoginCommand.Flow?
    let scopes: [String]
    /// What a person should know of the choice, a clause each.
    let notes: [String]

    /// The order in which flows are chosen.
    private static let preferredFlows: [LoginCommand.Flow] = [
        .browser, .device, .clientCredentials, .password,
    ]

    /// Chooses for `wish`.
    ///
    /// - Parameters:
    ///   - wish: what is known.
    ///   - offer: what the issuer offers, if it was asked.
    /// - Throws: ``AgentError``, `misconfigured` if it does not offer what is wanted.
    init(_ wish: NewSession, _ offer: ExaminationMessage?) throws(AgentError) {
        let offered = offer.map { ($0.flows ?? []).compactMap { LoginCommand.Flow(rawValue: $0) } }
        flow = try ResolvedSession.flow(wish, offered)
        guard flow != .clientCredentials || wish.client.proof.ways != ["none"] else {
            throw AgentError(
                .badRequest,
                "the flow client_credentials needs a client that proves itself",
                remedy: "use --client-secret-stdin, --client-secret-file FILE or --client-key-file FILE"
            )
        }
        scopes = ResolvedSession.scopes(wish, flow, offer)
        notes = ResolvedSession.notes(wish, offered, offer)
    }

    private static func flow(
        _ wish: NewSession,
        _ offered: [LoginCommand.Flow]?
    ) throws(AgentError) -> LoginCommand.Flow? {
        guard wish.hasLogin else { return nil }
        let known = wish.flow?.ofLogin ?? wish.server.preset?.flow
        if wish.server.kind == .oauth2 { return try flowWithoutMetadata(wish, known) }
        guard let offered else { return known }
        if let known {
            // Without an endpoint of their own these two cannot be; others may work although they are not named.
            guard offered.contains(known) || ![.browser, .device].contains(known) else {
                let names = offered.map(\.rawValue).joined(separator: ", ")
                throw AgentError(
                    .misconfigured,
                    "the issuer does not offer the flow \(known.rawValue)",
                    remedy: offered.isEmpty ? nil : "it offers: \(names)"
                )
            }
            return known
        }
        // Credentials of its own a client needs to have.
        let hasProof = wish.client.proof.ways != ["none"]
        guard
            let chosen = preferredFlows.first(where: {
                offered.contains($0) && (hasProof || $0 != .clientCredentials)
            })
        else {
            throw AgentError(
                .misconfigured,
                "the issuer offers no flow to log in with",
                remedy: "use --flow import if you have a refresh token from elsewhere"
            )
        }
        return chosen
    }

    /// The flow at a server without metadata: one for which there are endpoints; nil: the default, in the browser.
    private static func flowWithoutMetadata(
        _ wish: NewSession,
        _ known: LoginCommand.Flow?
    ) throws(AgentError) -> LoginCommand.Flow? {
        let written = Set(wish.server.endpoints.map(\.key))
        // Without any the session makes no sense, and that is said when its file is checked.
        guard written.contains("token_endpoint") else { return known }
        let needed: [LoginCommand.Flow: String] = [
            .browser: "authorization_endpoint", .device: "device_authorization_endpoint",
        ]
        if let known {
            guard let key = needed[known], !written.contains(key) else { return known }
            throw AgentError(
                .badRequest,
                "the flow \(known.rawValue) needs the server's \(key)",
                remedy: "use \(KnownEndpoint.option(giving: key)) URL, or another --flow"
            )
        }
        if written.contains("authorization_endpoint") { return nil }
        if written.contains("device_authorization_endpoint") { return .device }
        if wish.client.proof.ways != ["none"] { return .clientCredentials }
        throw AgentError(
            .badRequest,
            "with a token_endpoint alone nobody can log in by browser or device",
            remedy:
                "use --authorization-endpoint URL, --device-authorization-endpoint URL, or --flow password or import"
        )
    }

    private static func scopes(
        _ wish: NewSession,
        _ flow: LoginCommand.Flow?,
        _ offer: ExaminationMessage?
    ) -> [String] {
        guard wish.scopes.isEmpty else { return wish.scopes }
        // The usual ones are about a person's login, and a resource says itself which it wants.
        guard wish.server.kind.isStandard, wish.server.resource == nil, flow != .clientCredentials,
            wish.hasLogin
        else { return [] }
        let usual = NewSession.usualScopes
        let wanted = wish.server.preset?.scopes ?? (wish.server.kind == .oidc ? usual : [])
        guard let offered = offer?.scopes else { return wanted }
        return wanted.filter { offered.contains($0) || !usual.contains($0) }
    }

    private static func notes(
        _ wish: NewSession,
        _ offered: [LoginCommand.Flow]?,
        _ offer: ExaminationMessage?
    ) -> [String] {
        var notes: [String] = []
        if let flow = wish.flow?.ofLogin, flow != .import, let offered, !offered.contains(flow) {
            notes.append("the issuer does not name the flow \(flow.rawValue)")
        }
        if !wish.hasLogin, let offer {
            let (feature, words) =
                wish.isJWTBearer ? ("jwt_bearer", "JWT bearer grants") : ("token_exchange", "token exchange")
            if offer.features?.contains(feature) != true { notes.append("the issuer does not name \(words)") }
        }
        notes += notesOnScopes(wish, offer)
        let endpoints = wish.server.endpoints.map(\.key)
        if wish.hasLogin, endpoints.contains("token_endpoint"), !endpoints.contains("revocation_endpoint"),
            wish.server.preset == nil
        {
            notes.append("a logout revokes nothing at the server without revocation_endpoint")
        }
        let proof = wish.client.proof
        if wish.client.id != nil, let ways = offer?.authentication, Set(ways).isDisjoint(with: proof.ways) {
            notes.append("the issuer names no clients \(proof.words)")
        }
        return notes
    }

    /// What a person should know who has chosen the scopes.
    private static func notesOnScopes(_ wish: NewSession, _ offer: ExaminationMessage?) -> [String] {
        guard !wish.scopes.isEmpty else { return [] }
        var notes: [String] = []
        let stays = "offline_access"
        if wish.hasLogin, wish.flow != .login(.clientCredentials), offer?.scopes?.contains(stays) == true,
            !wish.scopes.contains(stays)
        {
            notes.append(
                "without \(stays) the login may end with its first token; add it with --scope \(stays)"
            )
        }
        if let all = offer?.allScopes, !Set(wish.scopes).isSubset(of: all) {
            notes.append("the issuer lists these scopes alone: \(all.joined(separator: " "))")
        }
        return notes
    }

    /// The key `flow`; nil: the default of the kind.
    func flowWritten(for wish: NewSession) -> String? {
        if wish.isJWTBearer { return "jwt_bearer" }
        let isExchanged = wish.source != nil && wish.server.roleARN == nil
        return isExchanged ? "token_exchange" : flow?.rawValue
    }
}

extension ExaminationMessage {
    /// What an issuer offers, on one line.
    var words: String {
        let parts: [(String, [String]?)] = [
            ("flows", self.flows), ("client authentication", self.authentication), ("scopes", self.scopes),
            ("further", self.features),
        ]
        let words = parts.compactMap { name, values in
            values.flatMap { $0.isEmpty ? nil : "\(name) \($0.joined(separator: ", "))" }
        }
        return "The issuer offers: " + (words.isEmpty ? "nothing we know" : words.joined(separator: "; "))
    }

    /// What a resource says, on one line; nil: none was looked at.
    var resourceWords: String? {
        guard let resource = self.resource, let issuer = self.issuer else { return nil }
        let scopes = self.resourceScopes ?? []
        let words = scopes.isEmpty ? "" : "; a login asks for the scopes \(scopes.joined(separator: " "))"
        return "The resource \(resource) takes tokens of \(issuer)\(words)"
    }
}
