// SPDX-License-Identifier: MIT

import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// Logouts of a session that the hosts of a fleet share.
@Suite(.timeLimit(.minutes(10)))
struct SharedLogoutTests {
    @Test func `what another host has refreshed meanwhile does not bring a session back that was logged out`()
        async throws
    {
        let (agent, fleet) = try await start()
        async let refresh = agent.peer().exchange("POST", "/v1/sessions/work/refresh", body: "{}")
        let request = await agent.serving.nextRefresh()
        async let logout = agent.peer().exchange("POST", "/v1/sessions/work/logout", body: "{}")
        #expect(try await Polling.until { try await agent.sharedToken() == nil })
        fleet.write(login: 5, generation: 1, token: "token-2")
        request.answer(.failed(RefreshFailure(kind: .ambiguous, message: "no answer")))
        await agent.serving.nextRevocation().answer(.revoked)
        #expect(try await logout.status == 200)
        _ = try await refresh
        #expect(fleet.record?.status == .out)
        #expect(try await agent.sharedToken() == nil)
        await agent.stop()
    }

    @Test func `a logout ends the login of another host that is being written to the disk`() async throws {
        let (agent, fleet) = try await start()
        agent.store.disk.holdCommits()
        fleet.write(login: 6, generation: 0, token: "token-2")
        #expect(try await Polling.until { agent.store.disk.heldCommits == 1 })
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/logout", body: "{}"))
        _ = try await agent.sharedToken()
        agent.store.disk.letCommitsGo()
        let revocation = await agent.serving.nextRevocation()
        let shown = try #require(revocation.request.refreshToken)
        #expect(try agent.text(shown) == "refresh-token-2")
        revocation.answer(.revoked)
        #expect(try await peer.answer().status == 200)
        #expect(fleet.record?.lineage.number == 6)
        #expect(fleet.record?.status == .out)
        await agent.stop()
    }

    @Test func `the tokens that a logout ends are shown to the server although another host has logged in`()
        async throws
    {
        let (agent, fleet) = try await start()
        agent.store.disk.holdCommits()
        async let logout = agent.peer().exchange("POST", "/v1/sessions/work/logout", body: "{}")
        #expect(try await Polling.until { try await agent.sharedToken() == nil })
        #expect(try await Polling.until { agent.store.disk.heldCommits == 1 })
        fleet.write(login: 6, generation: 0, token: "token-2")
        agent.store.disk.letCommitsGo()
        let revocation = await agent.serving.nextRevocation()
        let shown = try #require(revocation.request.refreshToken)
        #expect(try agent.text(shown) == "refresh-token-1")
        revocation.answer(.revoked)
        let answer = try await logout
        #expect(answer.status == 403)
        #expect(answer.body.contains("another login came first"), "\(answer.body)")
        #expect(try await agent.sharedToken() == "token-2")
        #expect(fleet.record?.lineage.number == 6)
        // The tokens are erased after the server has revoked them.
        #expect(try await Polling.until { (try? agent.text(shown)) == nil })
        await agent.stop()
    }

    @Test func `a logout at a host that does not hear etcd ends the login that is there`() async throws {
        let (agent, fleet) = try await start()
        fleet.loseWatch()
        #expect(try await Polling.until { agent.log.shown.contains { $0.contains("etcd unreachable") } })
        fleet.write(login: 6, generation: 0, token: "token-2")
        async let logout = agent.peer().exchange("POST", "/v1/sessions/work/logout", body: "{}")
        let revocation = await agent.serving.nextRevocation()
        let shown = try #require(revocation.request.refreshToken)
        #expect(try agent.text(shown) == "refresh-token-2")
        revocation.answer(.revoked)
        #expect(try await logout.status == 200)
        #expect(fleet.record?.lineage.number == 6)
        #expect(fleet.record?.status == .out)
        await agent.stop()
    }

    @Test func `two logouts and a login over a slow disk each have an end`() async throws {
        let (agent, fleet) = try await start()
        agent.store.disk.holdCommits()
        let peers = [try agent.peer(), try agent.peer()]
        try peers[0].send(SocketPeer.request("POST", "/v1/sessions/work/logout", body: "{}"))
        #expect(try await Polling.until { agent.store.disk.heldCommits == 1 })
        try peers[1].send(SocketPeer.request("POST", "/v1/sessions/work/logout", body: "{}"))
        let login = try agent.peer()
        try login.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: "{}"))
        agent.store.disk.letCommitsGo()
        _ = try await login.streamHead()
        await agent.serving.nextRevocation().answer(.revoked)
        for peer in peers { #expect(try await peer.answer().status == 200) }
        await agent.serving.nextLogIn().answer(.cancelled)
        // Or a logout came first.
        #expect(try await login.chunk().contains("\"code\":\"denied\""))
        #expect(fleet.record?.status == .out)
        await agent.stop()
    }

    @Test func `a logout that a late answer keeps from etcd has an end, and says what helps`() async throws {
        let (agent, fleet) = try await start()
        fleet.refuseSealing(
            FleetStoreError(.unreadable, "a late answer", remedy: FleetStoreError.repair(AgentHarness.work))
        )
        let answer = try await agent.peer().exchange("POST", "/v1/sessions/work/logout", body: "{}")
        #expect(answer.status == 200)
        #expect(answer.body.contains("\"told\":\"retrying\""), "\(answer.body)")
        #expect(answer.body.contains("tokenctl fleet repair work"), "\(answer.body)")
        #expect(fleet.record?.status == .live)
        await agent.stop()
    }

    @Test func `a logout that another one takes the place of ends with that`() async throws {
        let (agent, fleet) = try await start()
        agent.store.disk.holdCommits()
        async let logout = agent.peer().exchange("POST", "/v1/sessions/work/logout", body: "{}")
        #expect(try await Polling.until { agent.store.disk.heldCommits == 1 })
        await agent.runtime.agent.logOutAgain(of: AgentHarness.work)
        agent.store.disk.letCommitsGo()
        await agent.serving.nextRevocation().answer(.revoked)
        let answer = try await logout
        #expect(answer.status == 200, "\(answer.body)")
        #expect(fleet.record?.status == .out)
        await agent.stop()
    }

    @Test func `a logout that was overtaken takes no client away at a later one`() async throws {
        let (agent, fleet) = try await start()
        agent.store.disk.holdCommits()
        async let first = agent.peer().exchange(
            "POST",
            "/v1/sessions/work/logout",
            body: "{\"unregister\":true}"
        )
        #expect(try await Polling.until { agent.store.disk.heldCommits == 1 })
        fleet.write(login: 6, generation: 0, token: "token-2")
        agent.store.disk.letCommitsGo()
        await agent.serving.nextRevocation().answer(.revoked)
        #expect(try await first.status == 403)
        #expect(try await Polling.until { try await agent.sharedToken() == "token-2" })
        async let second = agent.peer().exchange("POST", "/v1/sessions/work/logout", body: "{}")
        await agent.serving.nextRevocation().answer(.revoked)
        #expect(try await second.status == 200)
        #expect(agent.serving.forgottenSecrets == 0)
        await agent.stop()
    }

    @Test func `a local logout does not give up what an earlier logout is still to revoke`() async throws {
        let (agent, fleet) = try await start()
        fleet.refuseWrites(FleetStoreError(.unavailable, "etcd is away"))
        let first = try await agent.peer().exchange("POST", "/v1/sessions/work/logout", body: "{}")
        #expect(first.body.contains("etcd is away"), "\(first.body)")
        try await agent.logIn(token: "token-2")
        let second = try await agent.peer().exchange(
            "POST",
            "/v1/sessions/work/logout",
            body: "{\"local\":true}"
        )
        #expect(second.status == 503)
        #expect(second.body.contains("not yet in etcd: the logout"), "\(second.body)")
        #expect(try await agent.sharedToken() == "token-2")
        await agent.stop()
    }

    @Test(.holds("O49"))
    func `a revocation endpoint that only this host names gets no token of another's login`()
        async throws
    {
        let (agent, _) = try await start(endings: ["https://end.example:443"])
        let answer = try await agent.peer().exchange("POST", "/v1/sessions/work/logout", body: "{}")
        #expect(answer.body.contains("another server"), "\(answer.body)")
        #expect(agent.serving.revocationCount == 0)
        await agent.stop()
    }

    /// An agent that has taken over another host's login.
    private func start(endings: [String] = []) async throws -> (AgentHarness, FleetDouble) {
        let memory = try SealedMemory()
        let fleet = FleetDouble(memory: memory)
        fleet.write(login: 5, generation: 0, token: "token-1")
        let agent = try await AgentHarness.adopting(from: fleet, memory: memory, endings: endings)
        return (agent, fleet)
    }
}

extension SessionAgent {
    /// Requests a logout again, as a caller does that has waited too long for the previous logout.
    fileprivate func logOutAgain(of name: SessionName) {
        parts.registry.apply(name) { session, moment in session.logoutRequested(local: false, at: moment) }
    }
}
