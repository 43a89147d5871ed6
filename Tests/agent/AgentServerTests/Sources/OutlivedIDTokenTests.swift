// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// A session that is made from the ID token of `work`, which ends before anything else does.
@Suite(.timeLimit(.minutes(10)))
struct OutlivedIDTokenTests {
    private func agent(_ name: SessionName) async throws -> AgentHarness {
        let agent = try await AgentHarness.configured { configuration, _ in
            guard var settings = configuration.sessions[AgentHarness.work] else { return }
            settings.policy.startsByItself = true
            settings.sources = SessionSources(
                subject: SessionSources.Source(session: AgentHarness.work, usesIDToken: true)
            )
            configuration.sessions[name] = settings
        }
        try await agent.logIn(idToken: ("id-1", .seconds(900)))
        try await exchange(of: name, "a-1", for: "id-1", in: agent)
        let isMade = try await Polling.until {
            try await agent.peer().exchange("GET", "/v1/sessions/\(name)/token").body.contains("a-1")
        }
        #expect(isMade)
        return agent
    }

    /// Answers the next request to a server, which has to show `source`.
    private func exchange(
        of name: SessionName,
        _ token: String,
        for source: String,
        in agent: AgentHarness
    ) async throws {
        let call = await agent.serving.nextRefresh()
        #expect(call.session == name)
        #expect(try call.request.sources.subject.map(agent.text) == source)
        var tokens = try agent.granted(token)
        tokens.origin = IssuanceContext(tokenEndpoint: "https://id.example/token")
        call.answer(.granted(tokens))
    }

    private func refresh(_ name: SessionName, in agent: AgentHarness) throws -> SocketPeer {
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/\(name)/refresh", body: "{}"))
        return peer
    }

    @Test func `it is made from another one that a refresh brings`() async throws {
        let name = try #require(SessionName("a"))
        let agent = try await agent(name)
        await agent.advance(by: .seconds(900))
        let peer = try refresh(name, in: agent)
        let tokens = try agent.granted("token-2", idToken: ("id-2", .seconds(900)))
        await agent.serving.nextRefresh().answer(.granted(tokens))
        try await exchange(of: name, "a-2", for: "id-2", in: agent)
        #expect(try await peer.answer().body.contains("a-2"))
        await agent.stop()
    }

    @Test func `where no refresh brings one, a login to the source is what helps, told once`() async throws {
        let name = try #require(SessionName("a"))
        let agent = try await agent(name)
        await agent.advance(by: .seconds(900))
        let peer = try refresh(name, in: agent)
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        let answer = try await peer.answer()
        #expect(answer.status == 401 && answer.body.contains(#""remedy":"tokenctl login work""#), "\(answer)")
        // The source goes on without an ID token.
        let again = try refresh(AgentHarness.work, in: agent)
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-3")))
        #expect(try await again.answer().status == 200)
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/a/token").body.contains("a-1"))
        #expect(agent.observed.names.count { $0 == .loginRequired } == 1)
        await agent.stop()
    }
}
