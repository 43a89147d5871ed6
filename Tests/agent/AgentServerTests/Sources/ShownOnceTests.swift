// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// Tokens of a session that another one shows as assertions: `home` shows those of `work`.
@Suite(.timeLimit(.minutes(10)))
struct ShownOnceTests {
    /// An agent whose session `home` has got `made-1` for the token `token-1`.
    private static func agent(isRenewable: Bool = true) async throws -> AgentHarness {
        let agent = try await AgentHarness.configured { configuration, _ in
            configuration.sessions[AgentHarness.home]?.policy.startsByItself = true
            configuration.sessions[AgentHarness.home]?.policy.tokensOutliveLogin = false
            configuration.sessions[AgentHarness.home]?.sources = SessionSources(
                subject: SessionSources.Source(session: AgentHarness.work, isShownOnce: true)
            )
        }
        try await agent.logIn(isRenewable: isRenewable)
        let first = await agent.serving.nextRefresh()
        #expect(first.session == AgentHarness.home)
        #expect(try first.request.sources.subject.map(agent.text) == "token-1")
        first.answer(.granted(try agent.made("made-1")))
        #expect(try await Polling.until { try await agent.token("home").contains("made-1") })
        return agent
    }

    @Test(.holds("189")) func `an assertion that was shown is replaced before the next request`() async throws
    {
        let agent = try await Self.agent()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/home/refresh", body: "{}"))
        let source = await agent.serving.nextRefresh()
        #expect(source.session == AgentHarness.work)
        source.answer(.granted(try agent.granted("token-2")))
        let made = await agent.serving.nextRefresh()
        #expect(made.session == AgentHarness.home)
        #expect(try made.request.sources.subject.map(agent.text) == "token-2")
        made.answer(.granted(try agent.made("made-2")))
        #expect(try await peer.answer().status == 200)
        #expect(agent.serving.refreshCount == 3)
        // It was good, and no server has refused it.
        let told = agent.log.shown.filter { $0.hasPrefix("notice refreshed") && $0.hasSuffix("session=work") }
        #expect(told.count == 1 && told.allSatisfy { $0.contains("reason=asked") }, "\(told)")
        await agent.stop()
    }

    @Test func `one that was refused is not shown again either`() async throws {
        let agent = try await Self.agent()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/home/refresh", body: "{}"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        let refused = await agent.serving.nextRefresh()
        refused.answer(.failed(RefreshFailure(kind: .grantDead, code: "invalid_grant", message: "replayed")))
        #expect(try await peer.answer().status == 503)
        let again = try agent.peer()
        try again.send(SocketPeer.request("POST", "/v1/sessions/home/refresh", body: "{}"))
        let source = await agent.serving.nextRefresh()
        #expect(source.session == AgentHarness.work)
        source.answer(.granted(try agent.granted("token-3")))
        let made = await agent.serving.nextRefresh()
        #expect(try made.request.sources.subject.map(agent.text) == "token-3")
        made.answer(.granted(try agent.made("made-3")))
        #expect(try await again.answer().status == 200)
        await agent.stop()
    }

    @Test func `one that its source has replaced meanwhile is fresh`() async throws {
        let agent = try await Self.agent()
        let person = try agent.peer()
        try person.send(SocketPeer.request("POST", "/v1/sessions/work/refresh", body: "{}"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try await person.answer().status == 200)
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/home/refresh", body: "{}"))
        let made = await agent.serving.nextRefresh()
        #expect(made.session == AgentHarness.home)
        #expect(try made.request.sources.subject.map(agent.text) == "token-2")
        made.answer(.granted(try agent.made("made-2")))
        #expect(try await peer.answer().status == 200)
        await agent.stop()
    }

    @Test func `one that its source cannot replace is shown again`() async throws {
        let agent = try await Self.agent(isRenewable: false)
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/home/refresh", body: "{}"))
        let made = await agent.serving.nextRefresh()
        #expect(made.session == AgentHarness.home)
        #expect(try made.request.sources.subject.map(agent.text) == "token-1")
        made.answer(.granted(try agent.made("made-2")))
        #expect(try await peer.answer().status == 200)
        await agent.stop()
    }
}

extension AgentHarness {
    /// Tokens that a server gave for an assertion.
    fileprivate func made(_ token: String) throws -> GrantedTokens {
        var tokens = try granted(token)
        tokens.origin = IssuanceContext(tokenEndpoint: "https://id.example/token")
        return tokens
    }

    fileprivate func token(_ name: String) async throws -> String {
        try await peer().exchange("GET", "/v1/sessions/\(name)/token").body
    }
}
