// SPDX-License-Identifier: MIT

import Synchronization
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// A `reauth_command` that ends with the outcome the test chose.
private final class ScriptedCommand: CommandRunning {
    private let outcome: Result<CommandResult, CommandFailure>
    private let limits = Mutex<[Duration]>([])

    init(_ outcome: Result<CommandResult, CommandFailure>) {
        self.outcome = outcome
    }

    /// The time limit of each run.
    var timeLimits: [Duration] { limits.withLock { $0 } }

    func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult {
        limits.withLock { $0.append(timeLimit) }
        return try outcome.get()
    }
}

@Suite(.timeLimit(.minutes(10)))
struct NoninteractiveLoginTests {
    private func agent(_ command: ScriptedCommand) async throws -> AgentHarness {
        let policy = SessionPolicy(noninteractiveLogins: [.command, .clientCredentials])
        let agent = try await AgentHarness(policy: policy, commands: command)
        try await agent.logIn(account: "alice")
        return agent
    }

    /// Ends the session by a rejected refresh.
    private func end(_ agent: AgentHarness) async {
        await agent.advance(by: .seconds(3300))
        let dead = RefreshFailure(kind: .grantDead, code: "invalid_grant", message: "it is dead")
        await agent.serving.nextRefresh().answer(.failed(dead))
    }

    @Test func `a command that hangs is given thirty seconds, then the next way is tried`() async throws {
        let command = ScriptedCommand(.failure(CommandFailure(message: "print-password took too long")))
        let agent = try await agent(command)
        await end(agent)
        let login = await agent.serving.nextLogIn()
        #expect(login.request.0.flow == .clientCredentials)
        #expect(command.timeLimits == [.seconds(30)])
        let grant = LoginGrant(
            tokens: try agent.granted("token-2"),
            renewal: .withoutLogin,
            tokenEndpoint: "https://id.example/token"
        )
        login.answer(.granted(grant))
        #expect(try await Polling.until { agent.observed.names.last == .loggedIn })
        #expect(!agent.observed.names.contains(.loginRequired))
        await agent.stop()
    }

    @Test func `the password goes from the command to the server and nowhere else`() async throws {
        let output = Array("open sesame\r\n".utf8)
        let agent = try await agent(
            ScriptedCommand(.success(CommandResult(status: 0, standardOutput: output)))
        )
        await end(agent)
        let login = await agent.serving.nextLogIn()
        #expect(login.request.0.flow == .password && login.request.0.username == "alice")
        let secret = try #require(login.request.0.secret)
        #expect(try agent.text(secret) == "open sesame")
        login.answer(.failed(RefreshFailure(kind: .grantDead, message: "wrong password")))
        await agent.serving.nextLogIn().answer(.failed(RefreshFailure(kind: .misconfigured, message: "no")))
        #expect(try await Polling.until { agent.observed.names.last == .loginRequired })
        #expect(throws: (any Error).self) { try agent.text(secret) }
        let answer = try await agent.peer().exchange("GET", "/v1/sessions/work/token")
        #expect(answer.status == 401)
        #expect(
            answer.body.contains("logging in again failed: command: wrong password; client_credentials: no")
        )
        await agent.stop()
    }

    @Test func `a signed token is an assertion and needs no user name`() async throws {
        let output = Array("eyJhbGciOiJub25lIn0.e30.c2ln\n".utf8)
        let agent = try await agent(
            ScriptedCommand(.success(CommandResult(status: 0, standardOutput: output)))
        )
        await end(agent)
        let login = await agent.serving.nextLogIn()
        #expect(login.request.0.isAssertion)
        login.answer(.cancelled)
        await agent.serving.nextLogIn().answer(.cancelled)
        #expect(try await Polling.until { agent.observed.names.last == .loginRequired })
        await agent.stop()
    }

    @Test(arguments: [
        ("eyJh.e30.c2ln", true), ("eyJh.e30", false), ("eyJh..c2ln", false), ("abc.e30.c2ln", false),
        ("eyJh.e30.c2ln.x", false), ("eyJh.e3 0.c2ln", false), ("", false), ("correct.horse.battery", false),
    ])
    func `a signed token is told from a password`(text: String, isToken: Bool) {
        #expect(SignedTokenSyntax.looksLike(Array(text.utf8)) == isToken)
    }
}
