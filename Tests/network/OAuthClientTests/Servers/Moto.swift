// SPDX-License-Identifier: MIT

import NIOPosix
import SecretMemory
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// A user pool this project did not write, run for one suite.
///
/// Its scripts live outside the repository; without them the suite is skipped.
struct Moto: SuiteTrait, TestScoping {
    enum Failure: Error {
        case noPool
    }

    @TaskLocal static var pool: UserPool?

    private static let script = ProviderScript("moto_cognito.py")

    static var isAvailable: Bool { script.isAvailable }

    /// The pool of the running suite, which must be one with this trait.
    static func current() throws -> UserPool {
        guard let pool else { throw Failure.noPool }
        return pool
    }

    static func run(_ arguments: [String]) async throws -> ProgramResult {
        try await script.run(arguments)
    }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Moto.script.whileRunning { work, state in
            try await Moto.$pool.withValue(UserPool(work: work, state: state), operation: function)
        }
    }
}

extension Trait where Self == Moto {
    static var moto: Self { Moto() }
}

/// The real client with a session at the running pool.
struct MotoScene {
    let pool: UserPool
    let memory: SealedMemory
    let clock = ManualClock()
    let servers: AuthorizationServers
    let name: SessionName

    init(client: String = "public", authFlow: CognitoPool.AuthFlow = .password) throws {
        pool = try Moto.current()
        let memory = try SealedMemory()
        let registration = pool.client(client)
        let secret = try registration["client_secret"]?.string.map {
            try memory.sealing($0, as: .clientSecret)
        }
        let profile = ServerProfile(
            kind: .cognito(
                CognitoPool(
                    region: pool.string("region"),
                    userPoolID: pool.string("user_pool_id"),
                    endpoint: pool.string("endpoint"),
                    authFlow: authFlow
                )
            ),
            client: ClientIdentity(
                registration["client_id"]?.string ?? "unknown",
                proof: ClientProof(secret: secret.map(SecretSource.sealed))
            ),
            flow: .password
        )
        #expect(profile.problems == [])
        let name = try #require(SessionName("aws"))
        self.name = name
        self.memory = memory
        servers = AuthorizationServers(
            profiles: [name: profile],
            memory: memory,
            timekeeper: clock,
            commands: ScriptedCommands(),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton
        )
    }

    func logIn(
        _ user: String,
        password: String? = nil,
        _ answers: Answers = Answers([])
    ) async throws
        -> LoginOutcome
    {
        let secret = try memory.sealing(password ?? pool.password(user), as: .password)
        return await servers.logIn(
            name,
            LoginRequest(username: user, secret: secret),
            conversation: ScriptedPerson(memory: memory) { answers.next($0) }
        )
    }

    func refresh(_ grant: LoginGrant) async -> RefreshOutcome {
        await servers.refresh(
            name,
            grant.refreshRequest()
        )
    }

    func revoke(_ grant: LoginGrant) async -> RevocationOutcome {
        guard let request = grant.revocationRequest else { return .nothing }
        return await servers.revoke(name, request)
    }
}

extension UserPool {
    /// Runs one of the script's commands and returns what it printed.
    func command(_ arguments: String...) async throws -> String {
        try await Moto.run([work.path] + arguments).standardOutput
    }
}
