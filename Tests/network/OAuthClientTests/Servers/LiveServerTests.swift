// SPDX-License-Identifier: MIT

import Foundation
import NIOPosix
import SecretMemory
import ServerSettings
import SystemCalls
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Against a real glewlwyd, when `TOKENAGENT_IDP_DIR` names the directory it was started in.
///
/// `glewlwyd/state.json` there says where it listens; `TOKENAGENT_IDP_BROWSER` is a program that walks its
/// pages as a user would.
@Suite(.serialized, .enabled(if: LiveServer.directory != nil && LiveServer.browser != nil))
struct LiveServerTests {
    static let realms = ["keep", "rotate", "slow"]

    @Test(arguments: realms)
    func `a browser login is refreshed twice, revoked, and then over`(realm: String) async throws {
        let live = try LiveServer(realm: realm)
        let grant = try await live.logIn(live.profile())
        #expect(grant.subject?.isEmpty == false)
        #expect(grant.tokens.idToken != nil)
        var token = try live.refreshToken(of: grant.renewal)
        for _ in 0..<2 {
            let outcome = await live.refresh(token, grant)
            let tokens = try #require(outcome.granted, "\(outcome)")
            #expect(try #require(tokens.lifetime) > .zero)
            #expect((tokens.refreshToken != nil) == (realm == "rotate"))
            token = tokens.refreshToken ?? token
        }
        let fresh = try #require(await live.refresh(token, grant).granted)
        token = fresh.refreshToken ?? token
        let revoked = await live.servers.revoke(
            LiveServer.session,
            RevocationRequest(
                refreshToken: token,
                accessToken: fresh.accessToken,
                idToken: grant.tokens.idToken?.secret,
                tokenEndpoint: grant.tokenEndpoint
            )
        )
        #expect(revoked == .revoked)
        // This server refuses a dead token with a bare 400.
        #expect(await live.refresh(token, grant).failure?.kind == .unexplained)
        await live.servers.shutDown()
    }

    @Test func `a device login waits for the person and refreshes`() async throws {
        let live = try LiveServer(realm: "rotate")
        let grant = try await live.logIn(live.profile(), flow: .device)
        #expect(await live.refresh(try live.refreshToken(of: grant.renewal), grant).granted != nil)
        await live.servers.shutDown()
    }

    @Test(arguments: [ClientSecretMethod.automatic, .basic, .post])
    func `a confidential client gets tokens for a password and for itself`(
        method: ClientSecretMethod
    ) async throws {
        let live = try LiveServer(realm: "keep")
        let profile = try live.confidentialProfile(method)
        let byPassword = try await live.logIn(profile, flow: .password)
        let token = try live.refreshToken(of: byPassword.renewal)
        #expect(await live.refresh(token, byPassword).granted != nil)
        var own = profile
        own.scopes = ["api"]
        let byItself = try await live.logIn(own, flow: .clientCredentials)
        #expect(byItself.renewal == .withoutLogin)
        let request = RefreshRequest(
            attempt: AttemptNumber(rawValue: 2),
            renewal: .withoutLogin,
            variant: .primary,
            tokenEndpoint: byItself.tokenEndpoint
        )
        #expect(await live.servers.refresh(LiveServer.session, request).granted != nil)
        await live.servers.shutDown()
    }

    @Test func `a refresh token from elsewhere is taken over`() async throws {
        let live = try LiveServer(realm: "rotate")
        let grant = try await live.logIn(live.profile())
        let token = try live.refreshToken(of: grant.renewal)
        let outcome = await live.servers.logIn(
            LiveServer.session,
            LoginRequest(flow: .import, secret: token),
            conversation: live.person
        )
        let imported = try #require(outcome.granted, "\(outcome)")
        #expect(imported.renewal != .refreshToken(token))
        await live.servers.shutDown()
    }

    @Test func `a wrong password fails without harm`() async throws {
        let live = try LiveServer(realm: "keep", password: "wrong-password-1")
        live.servers.replaceProfiles([LiveServer.session: try live.confidentialProfile(.automatic)])
        let outcome = await live.servers.logIn(
            LiveServer.session,
            LoginRequest(flow: .password),
            conversation: live.person
        )
        #expect(outcome.failure?.kind == .busy)
        await live.servers.shutDown()
    }
}

/// The running server as its state file describes it, and an agent's view of it.
struct LiveServer {
    static let directory = ProcessInfo.processInfo.environment["TOKENAGENT_IDP_DIR"]
    static let browser = ProcessInfo.processInfo.environment["TOKENAGENT_IDP_BROWSER"]
    static let session = SessionName("live") ?? { preconditionFailure("a valid name") }()

    let memory: SealedMemory
    let servers: AuthorizationServers
    let person: ScriptedPerson
    private let state: JSONObject
    private let issuer: String

    init(realm: String, password: String? = nil) throws {
        let path = try #require(LiveServer.directory) + "/glewlwyd/state.json"
        state = try #require(try JSONValue(parsing: try SmallFile.read(path)).object)
        issuer = try #require(state["issuers"]?.object?[realm]?.string)
        memory = try SealedMemory()
        let alice = try #require(state["users"]?.array?.first?.object)
        let answers = [
            "username": alice["username"]?.string, "password": password ?? alice["password"]?.string,
        ]
        person = ScriptedPerson(memory: memory) {
            answers[$0.kind.rawValue] ?? nil
        } whenTold: { step in
            LiveServer.walk(step)
        }
        servers = AuthorizationServers(
            profiles: [:],
            memory: memory,
            timekeeper: SystemClocks(),
            commands: ScriptedCommands(),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton
        )
        servers.replaceProfiles([LiveServer.session: profile()])
    }

    func profile() -> ServerProfile {
        var profile = ServerProfile(kind: .oidc(issuer: issuer), client: ClientIdentity("tokenagent-public"))
        profile.scopes = ["openid", "offline_access", "api"]
        profile.authorization.redirect = .port(18_405)
        profile.trust = ServerTrust(caFile: state["ca"]?.string)
        return profile
    }

    func confidentialProfile(_ method: ClientSecretMethod) throws -> ServerProfile {
        let client = try #require(state["clients"]?.object?["confidential"]?.object)
        var profile = profile()
        profile.client.id = try #require(client["client_id"]?.string)
        let secret = try #require(client["client_secret"]?.string)
        profile.client.proof = .secret(.sealed(try memory.sealing(secret, as: .clientSecret)), method)
        return profile
    }

    func logIn(_ profile: ServerProfile, flow: LoginFlow = .browser) async throws -> LoginGrant {
        servers.replaceProfiles([LiveServer.session: profile])
        let request = LoginRequest(flow: flow)
        let outcome = await servers.logIn(LiveServer.session, request, conversation: person)
        return try #require(outcome.granted, "\(outcome)")
    }

    func refresh(_ token: SecretID, _ grant: LoginGrant) async -> RefreshOutcome {
        await servers.refresh(
            LiveServer.session,
            RefreshRequest(
                attempt: AttemptNumber(rawValue: 1),
                renewal: .refreshToken(token),
                variant: .primary,
                idToken: grant.tokens.idToken?.secret,
                tokenEndpoint: grant.tokenEndpoint
            )
        )
    }

    func refreshToken(of renewal: RenewalMethod) throws -> SecretID {
        guard case .refreshToken(let secret) = renewal else { throw NoRefreshToken() }
        return secret
    }

    struct NoRefreshToken: Error {}

    /// Starts the browser; the login goes on when it has done its part.
    private static func walk(_ step: LoginMessage) {
        guard let directory, let browser else { return }
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let state = ["python3", browser, "--state", directory + "/glewlwyd/state.json"]
        switch step {
        case .openURL(let address, _): program.arguments = state + ["--url", address]
        case .userCode(let code, let address, _, _):
            program.arguments = state + ["--device", address, "--code", code]
        case .serverFound, .notice: return
        }
        program.standardOutput = FileHandle.nullDevice
        try? program.run()
    }
}

/// The real clocks.
private struct SystemClocks: Timekeeper {
    private static let start = ContinuousClock.now

    var now: Instant { .seconds(1) + (ContinuousClock.now - SystemClocks.start) }
    var wallTime: WallTime { WallTime(secondsSince1970: Int64(Date().timeIntervalSince1970)) }
}
