// SPDX-License-Identifier: MIT

import ExchangeGuard
import NIOCore
import SealedStore
import SecretMemory
import ServerSettings
import Synchronization
import Text
import TokenCore

/// The authorization servers of all configured sessions.
///
/// Each session name leads to an ``AuthorizationServer``, which is made from the session's ``ServerProfile``.
/// Servers of the same issuer share its metadata and keys.
///
/// - Entry points: ``refresh(_:_:)``, ``logIn(_:_:conversation:)``, ``revoke(_:_:)``,
///   ``replaceProfiles(_:)``.
/// - May not: store tokens outside sealed memory, or return texts of a server with secrets in them.
/// - Safe to call from any thread.
package final class AuthorizationServers: AuthorizationServing {
    private struct ServerTable {
        var servers: [SessionName: any AuthorizationServer] = [:]
        /// The issuers of ``servers``, by their configuration.
        var issuers: [Issuer.Description: Issuer] = [:]

        mutating func issuer(of profile: ServerProfile, _ tools: ServerDependencies) -> Issuer {
            let description = Issuer.Description(profile)
            if let known = issuers[description] { return known }
            let issuer = Issuer(description, tools: tools)
            issuers[description] = issuer
            return issuer
        }
    }

    private let tools: ServerDependencies
    private let transport: HTTPTransport?
    private let answers: (any ResponseRecordingProviding)?
    private let proxies: ProxyRoutes
    private let configured = Mutex(ServerTable())

    /// Serves `profiles`, which have been validated.
    ///
    /// - Parameters:
    ///   - profiles: One profile per session.
    ///   - memory: The sealed memory for tokens and secrets.
    ///   - timekeeper: The clocks.
    ///   - commands: Runs `client_secret_command`.
    ///   - registrations: The store of registered clients.
    ///   - answers: The recordings of responses to refreshes, or `nil` to record none.
    ///   - door: The connection to the starter of guards for refreshes, or `nil` if there is none.
    ///   - variables: The proxies in the environment at the agent's start.
    ///   - eventLoopGroup: The group with the loop that carries all connections. The group is not shut down
    ///     here.
    ///   - workflow: The GitHub Actions job that started the agent, or `nil` if none did.
    ///   - userAgent: The `User-Agent` of sessions that configure none.
    ///   - sleep: Waits between device polls, by default on the boot-time clock.
    package convenience init(
        profiles: [SessionName: ServerProfile],
        memory: SealedMemory,
        timekeeper: any Timekeeper,
        commands: any CommandRunning,
        registrations: any RegistrationStoring = TransientRegistrations(),
        answers: (any ResponseRecordingProviding)? = nil,
        door: GuardStarterConnection? = nil,
        variables: ProxyVariables = .none,
        eventLoopGroup: any EventLoopGroup,
        workflow: GitHubActionsTokenService? = nil,
        userAgent: String = "tokenagent",
        sleep: @escaping Sleeping = { try await Task.sleep(for: $0, clock: .continuous) }
    ) {
        let eventLoop = eventLoopGroup.next()
        let proxies = ProxyRoutes(variables, commands: commands)
        let transport = HTTPTransport(eventLoop: eventLoop, door: door, proxies: proxies)
        let tools = ServerDependencies(
            memory: memory,
            timekeeper: timekeeper,
            commands: commands,
            exchange: transport,
            eventLoop: eventLoop,
            sleep: sleep,
            workflow: workflow,
            registrar: Registrar(registrations),
            userAgent: userAgent
        )
        self.init(
            profiles: profiles,
            tools: tools,
            transport: transport,
            answers: answers,
            proxies: proxies
        )
    }

    init(
        profiles: [SessionName: ServerProfile],
        tools: ServerDependencies,
        transport: HTTPTransport? = nil,
        answers: (any ResponseRecordingProviding)? = nil,
        proxies: ProxyRoutes = ProxyRoutes()
    ) {
        self.proxies = proxies
        self.tools = tools
        self.transport = transport
        self.answers = answers
        replaceProfiles(profiles)
    }

    /// Applies a reloaded configuration.
    ///
    /// Servers whose profile did not change keep what they have learned. The others learn again, unless a
    /// kept server has the same issuer.
    package func replaceProfiles(_ profiles: [SessionName: ServerProfile]) {
        configured.withLock { configured in
            let old = configured
            configured = ServerTable()
            configured.servers.reserveCapacity(profiles.count)
            for (name, server) in old.servers where profiles[name] == server.profile {
                let issuer = Issuer.Description(server.profile)
                configured.servers[name] = server
                configured.issuers[issuer] = old.issuers[issuer]
            }
            for (name, profile) in profiles where configured.servers[name] == nil {
                let tools = tools.serving(profile)
                configured.servers[name] = makeServer(
                    profile,
                    of: configured.issuer(of: profile, tools),
                    tools
                )
            }
        }
    }

    /// Closes what is open.
    ///
    /// Call it once, when no more requests will follow.
    package func shutDown() async {
        await tools.lingering.close()
        await transport?.shutDown()
    }

    package func networkReturned() {
        transport?.networkReturned()
    }

    package func refresh(_ session: SessionName, _ request: RefreshRequest) async -> RefreshOutcome {
        guard let server = server(for: session) else { return .failed(.unknown(session)) }
        guard case .refreshToken = request.renewal, answers != nil || request.fence != nil else {
            return await server.refresh(request)
        }
        let attempt = GuardedAttempt(session: session, fence: request.fence, keeper: answers)
        return await GuardedAttempt.$current.withValue(attempt) { await server.refresh(request) }
    }

    /// Logs in to `session`.
    ///
    /// A step-up is rejected unless the server is standard, and pasting is rejected if the response comes in
    /// a form.
    package func logIn(
        _ session: SessionName,
        _ request: LoginRequest,
        conversation: any LoginPrompting
    ) async -> LoginOutcome {
        guard let server = server(for: session) else { return .failed(.unknown(session)) }
        let profile = server.profile
        if request.stepUp != nil, !profile.kind.word.isStandard { return .failed(.noStepUp) }
        if request.pastesRedirect, request.flow ?? profile.flow == .browser, profile.authorization.takesForms
        {
            return .failed(.formIsNotPasted)
        }
        var named = request
        named.session = session
        return await server.logIn(named, conversation: conversation)
    }

    /// Revokes `tokens`, waiting at most 10 s for the server.
    package func revoke(_ session: SessionName, _ tokens: RevocationRequest) async -> RevocationOutcome {
        guard let server = server(for: session) else { return .refused(.unknown(session)) }
        return await withTaskGroup(of: RevocationOutcome.self) { [sleep = tools.sleep] group in
            group.addTask { await server.revoke(tokens) }
            group.addTask {
                try? await sleep(AuthorizationServers.revocationLimit)
                return .failed(.revocationUnanswered)
            }
            let first = await group.next() ?? .failed(.revocationUnanswered)
            group.cancelAll()
            return first
        }
    }

    /// The maximum time a logout waits for the server, with discovery, refresh and revocation together.
    private static let revocationLimit: Duration = .seconds(10)

    package func unregister(_ session: SessionName, _ found: DiscoveredServer?) async {
        await server(for: session)?.unregister(found)
    }

    /// Stores the client secret that the user gave to `session`.
    ///
    /// - Throws: `misconfigured` if the session keeps no client secret, or `storage` if the store cannot keep
    ///   it. The secret is erased on failure.
    package func keepClientSecret(
        _ secret: SecretID,
        for session: SessionName
    ) async throws(RefreshFailure) {
        guard let profile = server(for: session)?.profile, let purpose = profile.givenSecret else {
            tools.memory.erase(secret)
            throw RefreshFailure(
                kind: .misconfigured,
                message: "the session does not use a stored client secret",
                remedy: .set("client_secret_sealed = true in [session.\(session)], then run tokenctl reload")
            )
        }
        do throws(StorageFailure) {
            try await tools.registrar.keep(given: secret, for: purpose, of: profile.client.id)
        } catch {
            let message = "cannot store the client secret: \(error.message)"
            throw RefreshFailure(kind: .storage, message: message)
        }
    }

    package func forgetClientSecret(of session: SessionName) async {
        await tools.registrar.forgetSecrets(givenTo: session)
    }

    package func proof(for tokenRequest: ProofRequest, showing token: SecretID, by key: SecretID) -> String? {
        let maker = ProofMaker(key: key, memory: tools.memory)
        return try? maker.proof(for: tokenRequest, at: tools.timekeeper.wallTime, showing: token)
    }

    /// Probes the server of `session` as the session would use it, for diagnostics.
    ///
    /// - Returns: The findings, or the reason the session could not use the server.
    package func examine(_ session: SessionName) async -> Result<ServerProbeResult, RefreshFailure> {
        guard let profile = server(for: session)?.profile else {
            return .failure(.unknown(session))
        }
        let result = await ServerProbe(profile: profile, tools: tools.serving(profile)).run()
        guard let way = proxies.description(of: profile.kind.identity.address, profile.trust.proxy) else {
            return result
        }
        return result.map { finding in
            var finding = finding
            finding.words += ", \(way)"
            return finding
        }
    }

    /// Probes an issuer that no session uses yet.
    ///
    /// If `issuer` is `nil`, the document at `address` names it.
    ///
    /// - Returns: The issuer's capabilities, or the reason a session could not use it.
    package func examine(
        issuer: String?,
        metadata address: String? = nil,
        trust: ServerTrust
    ) async -> Result<IssuerCapabilities, RefreshFailure> {
        let description = Issuer.Description(issuer: issuer, address: address, trust: trust)
        let match: IssuerNameRules.Strictness = issuer == nil ? .any : .spelling
        return await ServerMetadataCache.fetch(description, tools, match: match).map {
            IssuerCapabilities($0)
        }
    }

    /// Probes a protected resource that no session uses yet, and the issuer it names.
    ///
    /// - Returns: Their capabilities, or the reason a session could not use them.
    package func examine(
        _ resource: ProtectedResource,
        trust: ServerTrust
    ) async -> Result<ResourceCapabilities, RefreshFailure> {
        let profile = ServerProfile(kind: .resource(resource), client: ClientIdentity(""), trust: trust)
        do throws(RefreshFailure) {
            let server = ResourceAuthorizationServer(profile: profile, resource: resource, tools: tools)
            return .success(try await server.offer())
        } catch {
            return .failure(error)
        }
    }

    private func server(for session: SessionName) -> (any AuthorizationServer)? {
        configured.withLock { $0.servers[session] }
    }

    private func makeServer(
        _ profile: ServerProfile,
        of issuer: Issuer,
        _ tools: ServerDependencies
    ) -> any AuthorizationServer {
        let server: any AuthorizationServer =
            switch profile.kind {
            case .oidc, .oauth2: StandardServer(profile: profile, issuer: issuer, tools: tools)
            case .resource(let resource):
                ResourceAuthorizationServer(profile: profile, resource: resource, tools: tools)
            case .json(let backEnd): JSONServer(profile: profile, backEnd: backEnd, tools: tools)
            case .cognito(let pool): CognitoServer(profile: profile, pool: pool, tools: tools)
            case .command(let source): CommandServer(profile: profile, source: source, tools: tools)
            case .identityCenter(let center):
                IdentityCenterServer(profile: profile, center: center, tools: tools)
            case .awsRole(let role): AWSRoleServer(profile: profile, role: role, tools: tools)
            case .portalRole(let role): PortalRoleServer(profile: profile, role: role, tools: tools)
            case .gitHubApp(let app): GitHubAppServer(profile: profile, app: app, tools: tools)
            }
        return RedactingServer(
            server: server,
            names: ExchangeSecrets.ParameterNames(profile.kind, profile.dialect),
            memory: tools.memory
        )
    }
}

extension RefreshFailure {
    fileprivate static let revocationUnanswered = RefreshFailure(
        kind: .ambiguous,
        message: "no response from the server within 10 s"
    )

    fileprivate static let noStepUp = RefreshFailure(
        kind: .misconfigured,
        message: "scopes, acr and maximum age require a session of kind oidc or oauth2"
    )

    fileprivate static let formIsNotPasted = RefreshFailure(
        kind: .misconfigured,
        message: "--paste cannot be combined with response_mode = \"form_post\"",
        remedy: .retry("without --paste")
    )

    fileprivate static func unknown(_ session: SessionName) -> RefreshFailure {
        RefreshFailure(kind: .misconfigured, message: "no session named \"\(session)\"")
    }
}
