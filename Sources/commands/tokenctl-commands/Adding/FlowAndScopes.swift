// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The choices for a session: those of the user, else those of the provider that the issuer supports.
struct FlowAndScopes {
    /// The flow, or `nil` for the default of the kind.
    let flow: LoginCommand.Flow?
    let scopes: [String]
    /// The notes for the user about the choices, one clause each.
    let notes: [String]

    /// The flows in order of preference.
    private static let preferredFlows: [LoginCommand.Flow] = [
        .browser, .device, .clientCredentials, .password,
    ]

    /// Chooses flow and scopes for `newSession`.
    ///
    /// - Parameters:
    ///   - newSession: The requested session.
    ///   - offer: The capabilities of the issuer, if it was probed.
    /// - Throws: ``AgentError`` with the code `misconfigured` if the issuer does not support the request,
    ///   or `badRequest` if options are missing.
    init(_ newSession: NewSession, _ offer: ServerProbeMessage?) throws(AgentError) {
        let offered = offer.map { ($0.flows ?? []).compactMap { LoginCommand.Flow(rawValue: $0) } }
        flow = try FlowAndScopes.flow(newSession, offered)
        guard flow != .clientCredentials || newSession.client.proof.ways != ["none"] else {
            throw AgentError(
                .badRequest,
                "the flow client_credentials requires a client secret or key",
                remedy: .set("--client-secret-stdin, --client-secret-file or --client-key-file")
            )
        }
        scopes = FlowAndScopes.scopes(newSession, flow, offer)
        notes = FlowAndScopes.notes(newSession, offered, offer)
    }

    private static func flow(
        _ newSession: NewSession,
        _ offered: [LoginCommand.Flow]?
    ) throws(AgentError) -> LoginCommand.Flow? {
        guard newSession.hasLogin else { return nil }
        let known = newSession.flow?.ofLogin ?? newSession.server.provider?.flow
        if newSession.server.kind == .oauth2 { return try flowWithoutMetadata(newSession, known) }
        guard let offered else { return known }
        if let known {
            // These two flows need an endpoint in the metadata; others may work although the metadata do not
            // list them.
            guard offered.contains(known) || ![.browser, .device].contains(known) else {
                let names = offered.map(\.rawValue).joined(separator: " or ")
                throw AgentError(
                    .misconfigured,
                    "the issuer does not support the flow \(known.rawValue)",
                    remedy: offered.isEmpty ? nil : .set("--flow to \(names)")
                )
            }
            return known
        }
        // A client must have credentials for the flow client_credentials.
        let hasProof = newSession.client.proof.ways != ["none"]
        guard
            let chosen = preferredFlows.first(where: {
                offered.contains($0) && (hasProof || $0 != .clientCredentials)
            })
        else {
            throw AgentError(
                .misconfigured,
                "the issuer does not support any login flow",
                remedy: .set("--flow to import, for an existing refresh token")
            )
        }
        return chosen
    }

    /// Returns a flow for which endpoints were given, or `nil` for the default, which is the browser.
    private static func flowWithoutMetadata(
        _ newSession: NewSession,
        _ known: LoginCommand.Flow?
    ) throws(AgentError) -> LoginCommand.Flow? {
        let written = Set(newSession.server.endpoints.map(\.key))
        // Without a token endpoint the session is invalid, which the check of its file reports.
        guard written.contains("token_endpoint") else { return known }
        let needed: [LoginCommand.Flow: String] = [
            .browser: "authorization_endpoint", .device: "device_authorization_endpoint",
        ]
        if let known {
            guard let key = needed[known], !written.contains(key) else { return known }
            throw AgentError(
                .badRequest,
                "the flow \(known.rawValue) requires \(key)",
                remedy: .set("\(ServerEndpointSetting.option(giving: key)) or another --flow")
            )
        }
        if written.contains("authorization_endpoint") { return nil }
        if written.contains("device_authorization_endpoint") { return .device }
        if newSession.client.proof.ways != ["none"] { return .clientCredentials }
        throw AgentError(
            .badRequest,
            "browser and device logins require more endpoints than token_endpoint",
            remedy: .set("--authorization-endpoint, --device-authorization-endpoint or --flow")
        )
    }

    private static func scopes(
        _ newSession: NewSession,
        _ flow: LoginCommand.Flow?,
        _ offer: ServerProbeMessage?
    ) -> [String] {
        guard newSession.scopes.isEmpty else { return newSession.scopes }
        // The default scopes are for the login of a user, and a resource names its own scopes.
        guard newSession.server.kind.isStandard, newSession.server.resource == nil,
            flow != .clientCredentials,
            newSession.hasLogin
        else { return [] }
        let usual = NewSession.usualScopes
        let wanted = newSession.server.provider?.scopes ?? (newSession.server.kind == .oidc ? usual : [])
        guard let offered = offer?.scopes else { return wanted }
        return wanted.filter { offered.contains($0) || !usual.contains($0) }
    }

    private static func notes(
        _ newSession: NewSession,
        _ offered: [LoginCommand.Flow]?,
        _ offer: ServerProbeMessage?
    ) -> [String] {
        var notes: [String] = []
        if let flow = newSession.flow?.ofLogin, flow != .import, let offered, !offered.contains(flow) {
            notes.append("the issuer does not announce the flow \(flow.rawValue)")
        }
        if !newSession.hasLogin, let offer {
            let (feature, words) =
                newSession.isJWTBearer
                ? ("jwt_bearer", "JWT bearer grants") : ("token_exchange", "token exchange")
            if offer.features?.contains(feature) != true {
                notes.append("the issuer does not announce \(words)")
            }
        }
        notes += notesOnScopes(newSession, offer)
        let endpoints = newSession.server.endpoints.map(\.key)
        if newSession.hasLogin, endpoints.contains("token_endpoint"),
            !endpoints.contains("revocation_endpoint"),
            newSession.server.provider == nil
        {
            notes.append("without revocation_endpoint, a logout does not revoke tokens at the server")
        }
        let proof = newSession.client.proof
        if newSession.client.id != nil, let ways = offer?.authentication,
            Set(ways).isDisjoint(with: proof.ways)
        {
            notes.append("the issuer does not announce support for clients \(proof.words)")
        }
        return notes
    }

    /// Returns the notes for a user who has chosen the scopes.
    private static func notesOnScopes(_ newSession: NewSession, _ offer: ServerProbeMessage?) -> [String] {
        guard !newSession.scopes.isEmpty else { return [] }
        var notes: [String] = []
        let stays = "offline_access"
        if newSession.hasLogin, newSession.flow != .login(.clientCredentials),
            offer?.scopes?.contains(stays) == true,
            !newSession.scopes.contains(stays)
        {
            let remedy = Remedy.set("--scope \(stays)")
            notes.append("without \(stays), the login may end with its first token \(remedy.parenthesized)")
        }
        if let all = offer?.allScopes, !Set(newSession.scopes).isSubset(of: all) {
            notes.append("the issuer lists only these scopes: \(all.joined(separator: " "))")
        }
        return notes
    }

    /// Returns the value of the key `flow`, or `nil` for the default of the kind.
    func flowWritten(for newSession: NewSession) -> String? {
        if newSession.isJWTBearer { return "jwt_bearer" }
        let isExchanged = newSession.source != nil && newSession.server.roleARN == nil
        return isExchanged ? "token_exchange" : flow?.rawValue
    }
}

extension ServerProbeMessage {
    /// The capabilities of the issuer on one line.
    var words: String {
        let parts: [(String, [String]?)] = [
            ("flows", self.flows), ("client authentication", self.authentication), ("scopes", self.scopes),
            ("features", self.features),
        ]
        let words = parts.compactMap { name, values in
            values.flatMap { $0.isEmpty ? nil : "\(name) \($0.joined(separator: ", "))" }
        }
        let list = words.isEmpty ? "no known features" : words.joined(separator: "; ")
        return "Found \(self.issuer ?? "the issuer") (\(list))"
    }

    /// The metadata of the resource on one line, or `nil` if none was probed.
    var resourceWords: String? {
        guard let resource = self.resource, let issuer = self.issuer else { return nil }
        let scopes = self.resourceScopes ?? []
        let words = scopes.isEmpty ? "" : " (scopes requested at login: \(scopes.joined(separator: " ")))"
        return "The resource \(resource) accepts tokens from \(issuer)\(words)"
    }
}
