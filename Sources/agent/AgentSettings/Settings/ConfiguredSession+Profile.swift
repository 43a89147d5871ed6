// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

extension ConfiguredSession {
    /// Returns the profile for the OAuth client.
    ///
    /// - Parameter seal: stores a client secret from the configuration in the vault.
    /// - Returns: the profile, which was checked when the configuration was read.
    /// - Throws: the error of `seal`.
    package func profile<Failure: Error>(
        sealing seal: (String) throws(Failure) -> SecretID
    ) throws(Failure) -> ServerProfile {
        ServerProfile(
            kind: server,
            client: try client.identity(of: name, sealing: seal),
            scopes: scopes,
            flow: flow,
            authorization: authorization,
            audience: audience,
            resources: resources,
            grant: sources.grant,
            trust: trust,
            bindsTokens: responses.bindsTokens,
            endpoints: endpoints,
            requiresIDToken: responses.requiresIDToken,
            dialect: responses.dialect,
            userAgent: userAgent
        )
    }

    /// Whether its tokens are bound to a key.
    package var bindsTokens: Bool { responses.bindsTokens }

    /// The files read for its requests, with their keys.
    package var files: [(key: String, path: String)] {
        let authority = trust.caFile.map { (key: "ca_file", path: $0) }
        return [authority, sources.file].compactMap(\.self) + client.files + server.settings.secretFiles
            + trust.proxy.files
    }

    /// The commands that the session may run.
    package var commands: [[String]] {
        let own = client.commands + server.settings.commands
        return (own + sources.commands + trust.proxy.commands + [reauthenticationCommand])
            .filter { !$0.isEmpty }
    }

    /// The servers for which its tokens are meant: those configured, otherwise the host of its resource.
    package var hostsServed: [String] {
        guard hosts.isEmpty, case .resource(let resource) = server else { return hosts }
        return [resource.host].compactMap(\.self)
    }

    /// The kept members of token responses, without those that a redirect could set.
    package var responseMembers: Set<String> {
        if case .json(let backEnd) = server { return Set(backEnd.rules.responses.keptMembers) }
        return Set(responses.dialect.responses.keptMembers)
            .subtracting(responses.dialect.redirects.keptParameters)
    }

    /// Whether ``hostsServed`` is the host of the resource, without the resource's path.
    package var hasHostsOfResource: Bool { hosts.isEmpty && !hostsServed.isEmpty }

    /// The issuer, URL or pool, shown to the user.
    package var issuerShown: String {
        let identity = server.identity
        if server.word == .oauth2 || server.metadataAddress != nil { return issuer ?? identity.address }
        return identity.pool ?? identity.address
    }

    /// A text that identifies the server and client of the tokens.
    ///
    /// If it changes, old tokens must not be sent to the new server.
    package var fingerprint: String {
        let identity = server.identity
        let client = server.word.hasClients ? self.client.id : nil
        return
            ([server.word.rawValue, identity.address, identity.pool, client].compactMap(\.self) + origin)
            .joined(separator: " ")
    }

    /// The origins of configured URLs at which its tokens are revoked or its session is ended.
    package var endings: [String] {
        let replaced = [
            endpoints.revocation, endpoints.endSession,
            responses.dialect.revocation?.address(of: "x", client: "x"),
        ]
        let written = replaced.compactMap(\.self) + server.settings.endings
        let origins = written.compactMap { (try? EndpointURL($0))?.origin }
        return Set(origins).sorted()
    }

    /// The source and purpose of the tokens of a session without a login.
    private var origin: [String] {
        if let purpose = server.settings.purpose { return sources.words + purpose }
        guard sources != ConfiguredSources() else { return [] }
        return sources.words + [audience ?? ""] + resources + [""] + scopes
    }

    /// Whether users cannot log in to the session.
    package var hasNoLogin: Bool { sources.grant != nil || !server.word.hasLogins }

    /// Whether it has the credentials of a role instead of a token.
    var hasRoleCredentials: Bool { server.word == .awsRole }

    /// Whether it is a role assigned in IAM Identity Center.
    var isAssignedRole: Bool {
        if case .portalRole = server { true } else { false }
    }
}
