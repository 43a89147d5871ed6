// SPDX-License-Identifier: MIT

import OAuthClient
import Text
import TokenCore

extension ConfiguredSession {
    /// What the OAuth client needs to know.
    ///
    /// - Parameter seal: puts a client secret written in the file into the vault.
    /// - Returns: the profile, which is checked when the configuration is read.
    /// - Throws: what `seal` throws.
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
            lifetimeUnit: responses.lifetimeUnit,
            userAgent: userAgent
        )
    }

    /// Whether its tokens are bound to a key.
    package var bindsTokens: Bool { responses.bindsTokens }

    /// The files that are read for its requests, by their keys.
    package var files: [(key: String, path: String)] {
        let authority = trust.caFile.map { (key: "ca_file", path: $0) }
        let constants = server.constantFiles.map { (key: "\($0.key).file", path: $0.path) }
        return [authority, sources.file, server.appKeyFile].compactMap(\.self) + client.files + constants
            + trust.proxy.files
    }

    /// Every program that it runs.
    package var commands: [[String]] {
        let own = client.commands + server.constantCommands + server.sourceCommands
        return (own + sources.commands + trust.proxy.commands + [reauthenticationCommand])
            .filter { !$0.isEmpty }
    }

    /// The servers its tokens are for: those written, else its resource.
    package var hostsServed: [String] {
        guard hosts.isEmpty, case .resource(let resource) = server else { return hosts }
        return [resource.host].compactMap(\.self)
    }

    /// Whether no such server is written, so that the one of its resource is there without the resource's path.
    package var hasHostsOfResource: Bool { hosts.isEmpty && !hostsServed.isEmpty }

    /// The issuer, the address or the pool, to show people where the session belongs.
    package var issuerShown: String {
        let identity = server.identity
        if identity.kind == .oauth2 || server.metadataAddress != nil { return issuer ?? identity.address }
        return identity.pool ?? identity.address
    }

    /// Names the server and client of the tokens: when it changes, the old tokens are not for the new server.
    package var fingerprint: String {
        let identity = server.identity
        let client = identity.kind.hasClients ? self.client.id : nil
        return
            ([identity.kind.rawValue, identity.address, identity.pool, client].compactMap(\.self) + origin)
            .joined(separator: " ")
    }

    /// The servers of addresses written by hand at which its tokens are ended.
    package var endings: [String] {
        var written = [endpoints.revocation, endpoints.endSession]
        if case .json(let backEnd) = server { written.append(backEnd.logoutURL) }
        if case .oauth2(let fixed) = server { written += [fixed.revocation, fixed.endSession] }
        let origins = written.compactMap { text in text.flatMap { (try? EndpointURL($0))?.origin } }
        return Set(origins).sorted()
    }

    /// What the tokens of a session without a login are made of, and what they are for.
    private var origin: [String] {
        if case .command(let source) = server { return source.command }
        if case .gitHubApp(let app) = server { return app.origin }
        if case .identityCenter(let center) = server { return [center.portal] }
        if case .awsRole(let role) = server { return sources.words + [role.arn, role.sessionName] }
        if case .portalRole(let role) = server { return sources.words + [role.role.description] }
        guard sources != ConfiguredSources() else { return [] }
        return sources.words + [audience ?? ""] + resources + [""] + scopes
    }

    /// Whether nobody logs in to the session.
    package var hasNoLogin: Bool { sources.grant != nil || !server.identity.kind.hasLogins }

    /// Whether it has the credentials of a role in place of a token.
    var hasRoleCredentials: Bool { server.identity.kind == .awsRole }

    /// Whether that is a role which IAM Identity Center has assigned.
    var isAssignedRole: Bool {
        if case .portalRole = server { true } else { false }
    }

    /// Error codes of a resource server that call for a refresh.
    package var refreshCodes: [String] {
        if case .json(let json) = server { json.rules.refreshCodes } else { [] }
    }

    /// Where a resource server puts its codes, and the member by which it demands a new login.
    ///
    /// There is no such member for the standard kinds, whose logins only the authorization server itself ends.
    package var jsonResponsePaths: JSONResponsePaths {
        if case .json(let json) = server { return json.rules.places }
        return JSONResponsePaths(loginDemand: server.identity.kind == .cognito ? "requiresReauth" : nil)
    }

    /// Whether the session ends when a resource server refuses the refreshed token too.
    package var endsWithSecondRefusal: Bool {
        if case .json(let json) = server { json.rules.endsWithSecondRefusal } else { false }
    }

    /// Error codes of a resource server that end the session.
    package var logoutCodes: [String] {
        if case .json(let json) = server { json.rules.logoutCodes } else { [] }
    }
}

extension ServerProfile.Kind {
    /// The key of an app, where a file holds it.
    fileprivate var appKeyFile: (key: String, path: String)? {
        guard case .gitHubApp(let app) = self, case .file(let path) = app.key else { return nil }
        return ("key_file", path)
    }

    /// The programs that print a token, or what one is made with.
    fileprivate var sourceCommands: [[String]] {
        if case .command(let source) = self { return [source.command] }
        if case .gitHubApp(let app) = self, case .command(let command) = app.key { return [command] }
        return appKeyFile.map { [ReloadableFile.command(for: $0.path)] } ?? []
    }
}
