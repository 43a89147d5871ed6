// SPDX-License-Identifier: MIT

import AgentProtocol

/// The choices for a session: those of the user, else those of the preset that the issuer supports.
struct ResolvedSession {
    /// The flow, or `nil` for the default of the kind.
    let flow: LoginCommand.Flow?
    let scopes: [String]
    /// The notes for the user about the choices, one clause each.
    let notes: [String]

    /// The flows in order of preference.
    private static let preferredFlows: [LoginCommand.Flow] = [
        .browser, .device, .clientCredentials, .password,
    ]

    /// Chooses flow and scopes for `wish`.
    ///
    /// - Parameters:
    ///   - wish: The requested session.
    ///   - offer: The capabilities of the issuer, if it was probed.
    /// - Throws: ``AgentError`` with the code `misconfigured` if the issuer does not support the request,
    ///   or `badRequest` if options are missing.
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
            // These two flows need an endpoint in the metadata; others may work although the metadata do not
            // list them.
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
        // A client must have credentials for the flow client_credentials.
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

    /// Returns a flow for which endpoints were given, or `nil` for the default, which is the browser.
    private static func flowWithoutMetadata(
        _ wish: NewSession,
        _ known: LoginCommand.Flow?
    ) throws(AgentError) -> LoginCommand.Flow? {
        let written = Set(wish.server.endpoints.map(\.key))
        // Without a token endpoint the session is invalid, which the check of its file reports.
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
        // The default scopes are for the login of a user, and a resource names its own scopes.
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

    /// Returns the notes for a user who has chosen the scopes.
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

    /// Returns the value of the key `flow`, or `nil` for the default of the kind.
    func flowWritten(for wish: NewSession) -> String? {
        if wish.isJWTBearer { return "jwt_bearer" }
        let isExchanged = wish.source != nil && wish.server.roleARN == nil
        return isExchanged ? "token_exchange" : flow?.rawValue
    }
}

extension ExaminationMessage {
    /// The capabilities of the issuer on one line.
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

    /// The metadata of the resource on one line, or `nil` if none was probed.
    var resourceWords: String? {
        guard let resource = self.resource, let issuer = self.issuer else { return nil }
        let scopes = self.resourceScopes ?? []
        let words = scopes.isEmpty ? "" : "; a login asks for the scopes \(scopes.joined(separator: " "))"
        return "The resource \(resource) takes tokens of \(issuer)\(words)"
    }
}
