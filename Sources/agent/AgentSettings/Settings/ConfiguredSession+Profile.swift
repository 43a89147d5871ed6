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
        let constants = server.constantFiles.map { (key: "\($0.key).file", path: $0.path) }
        return [authority, sources.file, server.appKeyFile].compactMap(\.self) + client.files + constants
            + trust.proxy.files
    }

    /// The commands that the session may run.
    package var commands: [[String]] {
        let own = client.commands + server.constantCommands + server.sourceCommands
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
        if identity.kind == .oauth2 || server.metadataAddress != nil { return issuer ?? identity.address }
        return identity.pool ?? identity.address
    }

    /// A text that identifies the server and client of the tokens.
    ///
    /// If it changes, old tokens must not be sent to the new server.
    package var fingerprint: String {
        let identity = server.identity
        let client = identity.kind.hasClients ? self.client.id : nil
        return
            ([identity.kind.rawValue, identity.address, identity.pool, client].compactMap(\.self) + origin)
            .joined(separator: " ")
    }

    /// The origins of configured URLs at which its tokens are revoked or its session is ended.
    package var endings: [String] {
        var written = [
            endpoints.revocation, endpoints.endSession,
            responses.dialect.revocation?.address(of: "x", client: "x"),
        ]
        if case .json(let backEnd) = server { written.append(backEnd.logoutURL) }
        if case .oauth2(let fixed) = server { written += [fixed.revocation, fixed.endSession] }
        let origins = written.compactMap { text in text.flatMap { (try? EndpointURL($0))?.origin } }
        return Set(origins).sorted()
    }

    /// The source and purpose of the tokens of a session without a login.
    private var origin: [String] {
        if case .command(let source) = server { return source.command }
        if case .gitHubApp(let app) = server { return app.origin }
        if case .identityCenter(let center) = server { return [center.portal] }
        if case .awsRole(let role) = server { return sources.words + [role.arn, role.sessionName] }
        if case .portalRole(let role) = server { return sources.words + [role.role.description] }
        guard sources != ConfiguredSources() else { return [] }
        return sources.words + [audience ?? ""] + resources + [""] + scopes
    }

    /// Whether users cannot log in to the session.
    package var hasNoLogin: Bool { sources.grant != nil || !server.identity.kind.hasLogins }

    /// Whether it has the credentials of a role instead of a token.
    var hasRoleCredentials: Bool { server.identity.kind == .awsRole }

    /// Whether it is a role assigned in IAM Identity Center.
    var isAssignedRole: Bool {
        if case .portalRole = server { true } else { false }
    }

    /// The error codes of a resource server that cause a refresh.
    package var refreshCodes: [String] {
        if case .json(let json) = server { json.rules.refreshCodes } else { [] }
    }

    /// The paths of error codes in a resource server's responses, and the member that requires a new login.
    ///
    /// The standard kinds have no such member: only the authorization server itself ends their logins.
    package var jsonResponsePaths: JSONResponsePaths {
        if case .json(let json) = server { return json.rules.responses.paths }
        return JSONResponsePaths(loginDemand: server.identity.kind == .cognito ? "requiresReauth" : nil)
    }

    /// Whether the session ends when a resource server also rejects the refreshed token.
    package var endsWithSecondRefusal: Bool {
        if case .json(let json) = server { json.rules.endsWithSecondRefusal } else { false }
    }

    /// The error codes of a resource server that end the session.
    package var logoutCodes: [String] {
        if case .json(let json) = server { json.rules.logoutCodes } else { [] }
    }
}

extension ServerProfile.Kind {
    /// The key of an app, if it is in a file.
    fileprivate var appKeyFile: (key: String, path: String)? {
        guard case .gitHubApp(let app) = self, case .file(let path) = app.key else { return nil }
        return ("key_file", path)
    }

    /// The commands that print a token, or that read the key of one.
    fileprivate var sourceCommands: [[String]] {
        if case .command(let source) = self { return [source.command] }
        if case .gitHubApp(let app) = self, case .command(let command) = app.key { return [command] }
        return appKeyFile.map { [SecretSource.printing($0.path)] } ?? []
    }
}
