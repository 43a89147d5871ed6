// SPDX-License-Identifier: MIT

import SealedStore
import Synchronization
import Text
import TokenCore

/// The authorization server of a protected resource, which the resource itself names at each login (RFC 9728).
///
/// What it names is kept with the login: refreshes and the logout go there, wherever the resource points later.
final class ResourceServer: AuthorizationServer {
    let profile: ServerProfile
    private let resource: ProtectedResource
    private let tools: ServerDependencies
    private let watch: ResourceWatch
    private let servers = Mutex<[DiscoveredServer: StandardServer]>([:])

    /// Servers that are remembered with what they published: the present one, and one more or two after changes.
    private static let mostServers = 4

    init(profile: ServerProfile, resource: ProtectedResource, tools: ServerDependencies) {
        self.profile = profile
        self.resource = resource
        self.tools = tools
        let discovery = ResourceDiscovery(
            address: resource.address,
            trust: profile.trust,
            tools: tools,
            limit: .seconds(5)
        )
        watch = ResourceWatch(
            timekeeper: tools.timekeeper,
            isIssuerWritten: resource.issuer != nil
        ) { () async throws(RefreshFailure) in
            try await discovery.run().metadata
        }
    }

    var heldSecrets: [SecretID] {
        get async {
            var held: [SecretID] = []
            for server in servers.withLock({ Array($0.values) }) { held += await server.heldSecrets }
            return held
        }
    }

    func refresh(_ request: RefreshRequest) async -> RefreshOutcome {
        if request.renewal == .anew { return await renewAnew(request) }
        guard let found = request.server else { return .failed(.serverUnknown) }
        if let objection = await watch.objection(to: found) { return .failed(objection) }
        return await server(found).refresh(request)
    }

    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        guard let found = tokens.server else { return .refused(.serverUnknown) }
        return await server(found).revoke(tokens)
    }

    func unregister(_ found: DiscoveredServer?) async {
        guard let found else { return }
        await server(found).unregister(found)
    }

    func logIn(_ request: LoginRequest, conversation: any LoginPrompting) async -> LoginOutcome {
        do throws(RefreshFailure) {
            let present = request.present?.server
            let (place, server) = try await named(after: request.isUnattended ? present : nil)
            if let agreed = request.agreedIssuer, agreed.bytewise != place.issuer.bytewise {
                throw .issuerNotNamed(agreed, only: [place.issuer])
            }
            if present?.withoutClient != place {
                await conversation.tell(.serverFound(place, scopes: server.profile.scopes))
            }
            return await server.logIn(request, conversation: conversation).at(place)
        } catch {
            return .failed(error)
        }
    }

    /// What the resource names, with the checks that a login makes; nothing but documents is asked for.
    func offer() async throws(RefreshFailure) -> ResourceCapabilities {
        let (place, server) = try await named(after: nil)
        return ResourceCapabilities(
            resource: place.resource ?? resource.address,
            issuer: place.issuer,
            scopes: server.profile.scopes,
            server: IssuerCapabilities(try await server.discovery.metadata())
        )
    }

    /// Asks for tokens without a login, at the configured issuer, which such a session has to name.
    private func renewAnew(_ request: RefreshRequest) async -> RefreshOutcome {
        do throws(RefreshFailure) {
            let (place, server) = try await named(after: request.server)
            let outcome = await server.refresh(request)
            guard case .granted(var granted) = outcome else { return outcome }
            granted.origin?.server = place
            return .granted(granted)
        } catch {
            return .failed(error)
        }
    }

    /// The server that the resource names now, with the scopes to ask it for.
    ///
    /// - Parameter former: the server that nobody may leave without a person; `nil`: there is a person, or none yet.
    /// - Returns: the server, and what is to be kept of it with the login.
    /// - Throws: why there is none, or that it is not `former`.
    private func named(
        after former: DiscoveredServer?
    ) async throws(RefreshFailure) -> (DiscoveredServer, StandardServer) {
        let discovery = ResourceDiscovery(
            address: resource.address,
            trust: profile.trust,
            tools: tools,
            allowsOwnServer: resource.issuer == nil
        )
        let found = try await discovery.run()
        let place = DiscoveredServer(
            issuer: try issuer(of: found.metadata),
            resource: found.metadata.resource,
            isPublic: found.isPublic && resource.issuer == nil
        )
        if let former, !IssuerName.areSame(former.issuer, place.issuer) {
            throw .issuerChanged(from: former.issuer, to: place.issuer, isWritten: resource.issuer != nil)
        }
        var server = server(place)
        let metadata = try await server.discovery.metadata()
        if let name = found.metadata.resource { try check(metadata, names: name) }
        server.profile.scopes = try scopes(found, metadata)
        return (place, server)
    }

    /// The configured issuer, else the first one named.
    private func issuer(of metadata: ResourceMetadata) throws(RefreshFailure) -> String {
        guard let configured = resource.issuer else { return metadata.servers[0] }
        guard metadata.names(configured) else { throw .issuerNotNamed(configured, only: metadata.servers) }
        return configured
    }

    /// A server that says for which resources it gives tokens has to know this one (RFC 9728 §4).
    private func check(_ metadata: ServerMetadata, names resource: String) throws(RefreshFailure) {
        guard let known = metadata.protectedResources, !known.contains(resource.bytewise) else { return }
        let message = "\(metadata.token.hostAndPort) does not give tokens for \(resource)"
        throw RefreshFailure(kind: .misconfigured, message: ServerText.cleaned(message))
    }

    /// What the configuration says, else the refusal, else the metadata; with `offline_access` where that is known.
    private func scopes(
        _ found: ResourceDiscovery.Found,
        _ metadata: ServerMetadata
    ) throws(RefreshFailure) -> [String] {
        guard profile.scopes.isEmpty else { return profile.scopes }
        let named =
            found.challengedScope.map { NamedScopes.checked($0) }
            ?? NamedScopes.checked(found.metadata.scopes ?? [])
        guard var scopes = named else {
            let message = "the resource asks for scopes that make no sense, or for too many"
            throw RefreshFailure(kind: .misbehaved, message: message, remedy: "write scopes into the session")
        }
        let offline = "offline_access"
        if metadata.scopes?.contains(offline.bytewise) == true, !scopes.contains(offline) {
            scopes.append(offline)
        }
        return scopes
    }

    private func server(_ found: DiscoveredServer) -> StandardServer {
        let found = found.withoutClient
        return servers.withLock { servers in
            if let known = servers[found] { return known }
            // A resource that names another server at each login must not fill the memory.
            if servers.count >= ResourceServer.mostServers { servers.removeAll() }
            var profile = profile
            profile.kind = .oidc(issuer: found.issuer, metadata: resource.metadata)
            profile.resources = [found.resource].compactMap(\.self)
            let description = Issuer.Description(profile, namedBy: found, address: resource.metadata)
            let server = StandardServer(
                profile: profile,
                issuer: Issuer(description, tools: tools),
                tools: tools
            )
            servers[found] = server
            return server
        }
    }
}

extension LoginOutcome {
    /// The outcome of a login at `server`.
    fileprivate func at(_ server: DiscoveredServer) -> LoginOutcome {
        guard case .granted(var grant) = self else { return self }
        var server = server
        server.client = grant.server?.client
        grant.server = server
        return .granted(grant)
    }
}

extension RefreshFailure {
    /// The resource names other issuers than the one that a person has written or agreed to.
    fileprivate static func issuerNotNamed(_ issuer: String, only servers: [String]) -> RefreshFailure {
        let named = ServerText.cleaned(servers.joined(separator: ", "), limit: 300)
        return RefreshFailure(
            kind: .misconfigured,
            code: issuerChangedCode,
            message: "the resource takes no tokens of \(issuer); it names \(named)",
            remedy: issuerCorrection(servers[0]),
            needsLogin: true
        )
    }

    /// A login that was made before the session had a resource.
    fileprivate static let serverUnknown = RefreshFailure(
        kind: .misconfigured,
        message: "it is not known which server the resource named",
        needsLogin: true
    )
}
