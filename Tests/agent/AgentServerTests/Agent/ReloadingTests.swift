// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Changes of sessions after a reload of the configuration or of the store.
@Suite(.timeLimit(.minutes(10)))
struct ReloadingTests {
    private func json(_ answer: SocketPeer.Answer) throws -> JSONObject {
        try #require(try JSONValue(parsing: answer.body.utf8).object)
    }

    @Test func `a reload keeps unchanged sessions, ends changed ones, drops and adds`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(AgentHarness.work)
        try await agent.logIn(AgentHarness.home, token: "home-1")
        let added = try #require(SessionName("added"))
        agent.configuration.change { configuration in
            configuration.sessions[added] = configuration.sessions[AgentHarness.work]
            configuration.sessions[AgentHarness.home]?.fingerprint = "2"
        }
        let peer = try agent.peer()
        let answer5 = try json(await peer.exchange("POST", "/v1/reload"))
        #expect(answer5["sessions"]?.integer == 3)
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        #expect(try await peer.exchange("GET", "/v1/sessions/home/token").status == 401)
        #expect(try await peer.exchange("GET", "/v1/sessions/added/token").status == 401)
        agent.configuration.change { $0.sessions[AgentHarness.work] = nil }
        _ = try await peer.exchange("POST", "/v1/reload")
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 404)
        #expect(agent.store.disk.records[AgentHarness.work] != nil)
        await agent.stop()
    }

    @Test func `a login of other settings is there again when they are`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(AgentHarness.home, token: "home-1")
        var former = ""
        agent.configuration.change { former = $0.sessions[AgentHarness.home]?.fingerprint ?? "" }
        let record = agent.store.disk.records[AgentHarness.home]
        let peer = try agent.peer()
        agent.configuration.change { $0.sessions[AgentHarness.home]?.fingerprint = "2" }
        _ = try await peer.exchange("POST", "/v1/reload")
        #expect(try await peer.exchange("GET", "/v1/sessions/home/token").status == 401)
        let ended = try json(await peer.exchange("GET", "/v1/sessions/home"))
        #expect(ended["reason"]?.string == "configuration_changed")
        #expect(agent.observed.names.suffix(2) == [.loginRequired, .reloaded])
        #expect(agent.store.disk.records[AgentHarness.home] == record)
        agent.configuration.change { $0.sessions[AgentHarness.home]?.fingerprint = former }
        _ = try await peer.exchange("POST", "/v1/reload")
        #expect(try await peer.exchange("GET", "/v1/sessions/home/token").body.contains("home-1"))
        await agent.stop()
    }

    @Test func `what a refresh brings a session that has left is there when it returns`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(100))
        agent.time.advance(by: .seconds(90))
        await agent.runtime.agent.timeReached()
        let refresh = await agent.serving.nextRefresh()
        let peer = try agent.peer()
        agent.configuration.change { $0.sessions[AgentHarness.work] = nil }
        _ = try await peer.exchange("POST", "/v1/reload")
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 404)
        let record = agent.store.disk.records[AgentHarness.work]
        refresh.answer(.granted(try agent.granted("token-2")))
        _ = try await Polling.until { agent.store.disk.records[AgentHarness.work] != record }
        agent.configuration.change { configuration in
            configuration.sessions[AgentHarness.work] = configuration.sessions[AgentHarness.home]
        }
        _ = try await peer.exchange("POST", "/v1/reload")
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-2"))
        #expect(agent.store.disk.impossibleCalls.isEmpty)
        await agent.stop()
    }

    @Test func `a reload asked for by signal while locked is done at the unlock`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(AgentHarness.work)
        try await agent.logIn(AgentHarness.home, token: "home-1")
        await agent.runtime.agent.lock()
        let added = try #require(SessionName("added"))
        agent.configuration.change { configuration in
            configuration.sessions[added] = configuration.sessions[AgentHarness.work]
            configuration.sessions[AgentHarness.home]?.fingerprint = "2"
        }
        try await agent.runtime.agent.reloadOnceUnlocked()
        let peer = try agent.peer()
        #expect(try await unlock(peer) == 200)
        let answer = try json(await peer.exchange("GET", "/v1"))
        #expect(answer["sessions"]?.integer == 3)
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        let home = try json(await peer.exchange("GET", "/v1/sessions/home"))
        #expect(home["reason"]?.string == "configuration_changed")
        // One reload is enough: the next unlock does not repeat it.
        agent.configuration.change { $0.sessions[added] = nil }
        await agent.runtime.agent.lock()
        #expect(try await unlock(peer) == 200)
        #expect(try await peer.exchange("GET", "/v1/sessions/added").status == 200)
        await agent.stop()
    }

    @Test func `a mistake found when it is unlocked leaves the old configuration in force`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        await agent.runtime.agent.lock()
        agent.configuration.fail(
            RequestFailure(code: .misconfigured, message: "config.toml:3: kind: unknown")
        )
        try await agent.runtime.agent.reloadOnceUnlocked()
        let peer = try agent.peer()
        #expect(try await unlock(peer) == 200)
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        await agent.stop()
    }

    private func unlock(_ peer: SocketPeer) async throws -> Int {
        try await peer.exchange("POST", "/v1/unlock", body: #"{"passphrase":"open sesame"}"#).status
    }

    @Test func `a configuration with an error leaves the old one in force`() async throws {
        let agent = try await AgentHarness()
        agent.configuration.fail(
            RequestFailure(code: .misconfigured, message: "config.toml:3: kind: unknown")
        )
        let peer = try agent.peer()
        let answer = try await peer.exchange("POST", "/v1/reload")
        #expect(answer.status == 400)
        #expect(answer.body.contains("config.toml:3"))
        let answer6 = try json(await peer.exchange("GET", "/v1"))
        #expect(answer6["sessions"]?.integer == 2)
        await agent.stop()
    }

    @Test func `a session whose record is lost says so`() async throws {
        let agent = try await AgentHarness { store, _ in
            store.lose(AgentHarness.work, .recordUnreadable, message: "kept aside as 1.bad")
        }
        let status = try json(await agent.peer().exchange("GET", "/v1/sessions/work"))
        #expect(status["reason"]?.string == "record_unreadable")
        #expect(status["message"]?.string == "kept aside as 1.bad")
        await agent.stop()
    }

    @Test func `a session without a record says that one is lost, until it is logged in`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(AgentHarness.home, token: "home-1")
        await agent.runtime.agent.lock()
        agent.store.loseUnknown(message: "1.rec is damaged; kept as 1.rec.bad")
        let peer = try agent.peer()
        #expect(try await unlock(peer) == 200)
        let lost = try json(await peer.exchange("GET", "/v1/sessions/work"))
        #expect(lost["reason"]?.string == "record_unreadable")
        #expect(lost["message"]?.string == "1.rec is damaged; kept as 1.rec.bad")
        #expect(try json(await peer.exchange("GET", "/v1/sessions/home"))["reason"] == nil)
        try await agent.logIn()
        #expect(try json(await peer.exchange("GET", "/v1/sessions/work"))["reason"] == nil)
        await agent.stop()
    }

    @Test func `a session that a reload adds hears of a record that nobody can read`() async throws {
        let agent = try await AgentHarness()
        agent.store.loseUnknown(message: "1.rec is damaged; kept as 1.rec.bad")
        let added = try #require(SessionName("added"))
        agent.configuration.change { configuration in
            configuration.sessions[added] = configuration.sessions[AgentHarness.work]
        }
        let peer = try agent.peer()
        _ = try await peer.exchange("POST", "/v1/reload")
        let lost = try json(await peer.exchange("GET", "/v1/sessions/added"))
        #expect(lost["reason"]?.string == "record_unreadable")
        #expect(lost["message"]?.string == "1.rec is damaged; kept as 1.rec.bad")
        await agent.stop()
    }

    @Test func `a session that ends logs itself in with its command`() async throws {
        let agent = try await AgentHarness(
            policy: SessionPolicy(noninteractiveLogins: [.command]),
            commands: PasswordCommand()
        )
        try await agent.logIn(lifetime: .seconds(100), account: "alice")
        agent.time.advance(by: .seconds(100))
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token"))
        let refresh = await agent.serving.nextRefresh()
        refresh.answer(.failed(RefreshFailure(kind: .grantDead, code: "invalid_grant", message: "revoked")))
        let call = await agent.serving.nextLogIn()
        #expect(try agent.text(try #require(call.request.0.secret)) == "pass word")
        let grant = LoginGrant(
            tokens: try agent.granted("token-2"),
            renewal: .withoutLogin,
            tokenEndpoint: ""
        )
        call.answer(.granted(grant))
        #expect(try await peer.answer().body.contains("token-2"))
        #expect(!agent.observed.names.contains(.loginRequired))
        await agent.stop()
    }
}

private struct PasswordCommand: CommandRunning {
    func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult {
        CommandResult(
            status: command == ["print-password"] ? 0 : 1,
            standardOutput: Array("pass word\n".utf8)
        )
    }
}
