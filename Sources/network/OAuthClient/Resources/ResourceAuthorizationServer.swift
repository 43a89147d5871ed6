// SPDX-License-Identifier: MIT

import ServerSettings
import Synchronization
import Text
import TokenCore

/// The authorization server of a protected resource, which the resource names at each login (RFC 9728).
///
/// The server is stored with the login. Refreshes and the logout use it even if the resource names another
/// one later.
///
/// - Entry points: ``refresh(_:)``, ``logIn(_:conversation:)``, ``revoke(_:)``, and ``offer()`` to look
///   without a login.
/// - May not: send tokens to a server that the login was not made at, or follow the resource to another
///   issuer without the user.
final class ResourceAuthorizationServer: AuthorizationServer {
    let profile: ServerProfile
    private let resource: ProtectedResource
    private let tools: ServerDependencies
    private let watch: ServerChangeMonitor
    private let servers = Mutex<[DiscoveredServer: StandardServer]>([:])

    /// The maximum number of cached servers with their metadata: the current one, and a few more after
    /// changes.
    private static let maximumServers = 4

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
        watch = ServerChangeMonitor(
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
        if request.renewal == .withoutLogin { return await renewAnew(request) }
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

    /// Returns the capabilities of the resource and its issuer, with the checks of a login.
    ///
    /// Only documents are fetched.
    func offer() async throws(RefreshFailure) -> ResourceCapabilities {
        let (place, server) = try await named(after: nil)
        return ResourceCapabilities(
            resource: place.resource ?? resource.address,
            issuer: place.issuer,
            scopes: server.profile.scopes,
            server: IssuerCapabilities(try await server.discovery.metadata())
        )
    }

    /// Requests tokens without a login at the configured issuer, which such a session must have.
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

    /// Returns the server that the resource names now, with the scopes to request.
    ///
    /// - Parameter former: The server that must not change without the user, or `nil` if the user is present
    ///   or there was no server yet.
    /// - Returns: The server, and its description to store with the login.
    /// - Throws: The reason there is no server, or that it is not `former`.
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
        if let former, !IssuerNameRules.areSame(former.issuer, place.issuer) {
            throw .issuerChanged(from: former.issuer, to: place.issuer, isWritten: resource.issuer != nil)
        }
        var server = server(place)
        let metadata = try await server.discovery.metadata()
        if let name = found.metadata.resource { try check(metadata, names: name) }
        server.profile.scopes = try scopes(found, metadata)
        return (place, server)
    }

    /// Returns the configured issuer, or else the first one that the resource names.
    private func issuer(of metadata: ResourceMetadata) throws(RefreshFailure) -> String {
        guard let configured = resource.issuer else { return metadata.servers[0] }
        guard metadata.names(configured) else { throw .issuerNotNamed(configured, only: metadata.servers) }
        return configured
    }

    /// Checks that a server that lists its resources includes this one (RFC 9728 §4).
    private func check(_ metadata: ServerMetadata, names resource: String) throws(RefreshFailure) {
        guard let known = metadata.protectedResources, !known.contains(resource.bytewise) else { return }
        let message = "\(metadata.token.hostAndPort) does not issue tokens for \(resource)"
        throw RefreshFailure(kind: .misconfigured, message: ServerText.cleaned(message))
    }

    /// Returns the configured scopes, or those of the rejection, or those of the metadata.
    ///
    /// In the latter two cases `offline_access` is added if the server supports it.
    private func scopes(
        _ found: ResourceDiscovery.Found,
        _ metadata: ServerMetadata
    ) throws(RefreshFailure) -> [String] {
        guard profile.scopes.isEmpty else { return profile.scopes }
        let named =
            found.challengedScope.map { ScopeValidator.checked($0) }
            ?? ScopeValidator.checked(found.metadata.scopes ?? [])
        guard var scopes = named else {
            let message = "the resource requests invalid scopes, or too many"
            throw RefreshFailure(kind: .misbehaved, message: message, remedy: .set("scopes of the session"))
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
            if servers.count >= ResourceAuthorizationServer.maximumServers { servers.removeAll() }
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
    /// Returns the outcome with `server` as the server of the login.
    fileprivate func at(_ server: DiscoveredServer) -> LoginOutcome {
        guard case .granted(var grant) = self else { return self }
        var server = server
        server.client = grant.server?.client
        grant.server = server
        return .granted(grant)
    }
}

extension RefreshFailure {
    /// Returns the failure if the resource does not name the issuer that the user configured or agreed to.
    fileprivate static func issuerNotNamed(_ issuer: String, only servers: [String]) -> RefreshFailure {
        let named = ServerText.cleaned(servers.joined(separator: ", "), limit: 300)
        return RefreshFailure(
            kind: .misconfigured,
            code: issuerChangedCode,
            message: "the resource does not accept tokens from \(issuer) (accepted: \(named))",
            remedy: issuerCorrection(servers[0]),
            needsLogin: true
        )
    }

    /// The failure of a login that was made before the session had a resource.
    fileprivate static let serverUnknown = RefreshFailure(
        kind: .misconfigured,
        message: "the authorization server of the resource is unknown",
        needsLogin: true
    )
}
