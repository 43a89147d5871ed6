// SPDX-License-Identifier: MIT

import DemoIssuer
import NIOPosix
import SealedStore
import SecretMemory
import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

/// A server of any kind under test, over a scripted network.
struct KindBench {
    let memory: SealedMemory
    let clock = ManualClock()
    let exchange = ScriptedExchange()
    let server: any AuthorizationServer

    init(_ profile: ServerProfile, commands: ScriptedCommands = ScriptedCommands()) throws {
        memory = try SealedMemory()
        let tools = ServerDependencies(
            memory: memory,
            timekeeper: clock,
            commands: commands,
            exchange: exchange,
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(),
            sleep: clock.sleeping
        )
        switch profile.kind {
        case .oidc, .oauth2:
            let issuer = Issuer(Issuer.Description(profile), tools: tools)
            server = StandardServer(profile: profile, issuer: issuer, tools: tools)
        case .resource(let resource):
            server = ResourceAuthorizationServer(profile: profile, resource: resource, tools: tools)
        case .json(let backEnd): server = JSONServer(profile: profile, backEnd: backEnd, tools: tools)
        case .cognito(let pool): server = CognitoServer(profile: profile, pool: pool, tools: tools)
        case .command(let source): server = CommandServer(profile: profile, source: source, tools: tools)
        case .identityCenter(let center):
            server = IdentityCenterServer(profile: profile, center: center, tools: tools)
        case .awsRole(let role): server = AWSRoleServer(profile: profile, role: role, tools: tools)
        case .portalRole(let role): server = PortalRoleServer(profile: profile, role: role, tools: tools)
        case .gitHubApp(let app): server = GitHubAppServer(profile: profile, app: app, tools: tools)
        }
    }

    func secret(_ text: String, _ kind: SecretKind = .refreshToken) throws -> SecretID {
        try memory.sealing(text, as: kind)
    }

    func text(_ secret: SecretID?) throws -> String? {
        try secret.map { try memory.text(of: $0) }
    }

    func refresh(
        _ renewal: RenewalMethod? = nil,
        variant: TokenVariant = .primary,
        accessToken: String? = nil,
        idToken: String? = nil,
        tokenEndpoint: String? = nil
    ) async throws -> RefreshOutcome {
        await server.refresh(
            RefreshRequest(
                attempt: AttemptNumber(rawValue: 1),
                renewal: try renewal ?? .refreshToken(secret("rt-1")),
                variant: variant,
                idToken: try idToken.map { try secret($0, .idToken) },
                accessToken: try accessToken.map { try secret($0, .accessToken) },
                tokenEndpoint: tokenEndpoint
            )
        )
    }

    func logIn(
        _ flow: LoginFlow = .password,
        username: String? = "alice",
        secret text: String? = "alice-password",
        answers: @escaping @Sendable (LoginInputPrompt) -> String? = { _ in nil }
    ) async throws -> LoginOutcome {
        let request = LoginRequest(
            flow: flow,
            username: username,
            secret: try text.map { try secret($0, flow == .import ? .refreshToken : .password) }
        )
        return await server.logIn(request, conversation: ScriptedPerson(memory: memory, answers: answers))
    }

    func revoke(
        refreshToken: String? = "rt-1",
        accessToken: String? = "at-1",
        tokenEndpoint: String? = nil
    ) async throws -> RevocationOutcome {
        await server.revoke(
            RevocationRequest(
                refreshToken: try refreshToken.map { try secret($0) },
                accessToken: try accessToken.map { try secret($0, .accessToken) },
                tokenEndpoint: tokenEndpoint
            )
        )
    }
}

/// The real client over real HTTPS, against doubles on a demonstration issuer.
struct KindScene {
    let issuer: DemoIssuer
    let memory: SealedMemory
    let clock = ManualClock()
    let servers: AuthorizationServers
    let name: SessionName
    let profile: ServerProfile
    private let files: TemporaryDirectory

    /// `kind` is told the address of the issuer and gives the settings of the session.
    init(
        _ routes: [Route],
        pinned: Bool = false,
        clientSecret: String? = nil,
        clientID: String = "",
        _ kind: (String) -> ServerProfile.Kind
    ) async throws {
        files = try TemporaryDirectory()
        let authority = try CertificateAuthority()
        let identity = try authority.issue()
        var options = DemoIssuer.Options()
        options.tls = identity
        issuer = try await DemoIssuer.start(options)
        for route in routes { issuer.add(route) }
        let memory = try SealedMemory()
        self.memory = memory
        let secret = try clientSecret.map { try memory.sealing($0, as: .clientSecret) }
        let pin = identity.publicKeyHash ?? ""
        let profile = ServerProfile(
            kind: kind(issuer.issuer),
            client: ClientIdentity(
                clientID,
                proof: ClientProof(secret: secret.map(SecretSource.sealed))
            ),
            flow: .password,
            trust: ServerTrust(
                caFile: try files.write(authority.certificatePEM, to: "ca.pem"),
                pins: pinned ? ["sha256/\(pin)"] : []
            )
        )
        #expect(profile.problems == [])
        self.profile = profile
        let name = try #require(SessionName("phone"))
        self.name = name
        servers = AuthorizationServers(
            profiles: [name: profile],
            memory: memory,
            timekeeper: clock,
            commands: ScriptedCommands(),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton
        )
    }

    /// Logs in as `username`, whose password follows from the name unless it is given.
    func logIn(
        _ username: String = "alice",
        password: String? = nil,
        answers: @escaping @Sendable (LoginInputPrompt) -> String? = { _ in nil }
    ) async throws -> LoginOutcome {
        let secret = try memory.sealing(password ?? "\(username)-password", as: .password)
        return await servers.logIn(
            name,
            LoginRequest(username: username, secret: secret),
            conversation: ScriptedPerson(memory: memory, answers: answers)
        )
    }

    func refresh(_ grant: LoginGrant, with renewal: RenewalMethod? = nil) async -> RefreshOutcome {
        await servers.refresh(
            name,
            grant.refreshRequest(renewal)
        )
    }

    func revoke(_ grant: LoginGrant) async -> RevocationOutcome {
        guard let request = grant.revocationRequest else { return .nothing }
        return await servers.revoke(name, request)
    }

    func text(_ secret: SecretID?) throws -> String { try memory.text(of: #require(secret)) }

    func refreshToken(_ grant: LoginGrant) throws -> String {
        guard case .refreshToken(let token) = grant.renewal else { return "" }
        return try memory.text(of: token)
    }
}
