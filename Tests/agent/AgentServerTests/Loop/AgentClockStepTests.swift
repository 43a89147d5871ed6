// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// An agent on a machine whose wall clock steps: a virtual machine that was paused, or a clock set late.
@Suite(.timeLimit(.minutes(1)))
struct AgentClockStepTests {
    private static let pause = Duration.seconds(8 * 3600)

    /// A JWT that ends so many seconds after the wall clock of `agent`.
    private func token(of agent: AgentHarness, endsIn seconds: Int64) -> String {
        let claims: JSONObject = ["exp": .integer(agent.time.wallTime.secondsSince1970 + seconds)]
        return JWTParts.signedText(["alg": .string("none")], claims) + ".c2ln"
    }

    private func accessToken(_ answer: SocketPeer.Answer) throws -> String? {
        try JSONValue(parsing: answer.body.utf8).object?["access_token"]?.string
    }

    /// Case clock-step.
    @Test(.holds("106")) func `a token is refreshed before it is given out after a step of the wall clock`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn(token: token(of: agent, endsIn: 3600))
        let peer = try agent.peer()
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 200)
        agent.time.advance(by: .seconds(36))
        agent.time.stepWallClock(by: Self.pause)
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token"))
        let refresh = await agent.serving.nextRefresh()
        refresh.answer(.granted(try agent.granted("token-2")))
        #expect(try accessToken(await peer.answer()) == "token-2")
        #expect(agent.serving.refreshCount == 1)
        await agent.stop()
    }

    @Test(.holds("106"))
    func `housekeeping notices a step, and every session is refreshed at its issuer's pace`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn(token: "token-1")
        try await agent.logIn(AgentHarness.home, token: "token-2")
        agent.time.stepWallClock(by: Self.pause)
        await agent.runtime.housekeep()
        for _ in 0..<2 {
            let refresh = await agent.serving.nextRefresh()
            refresh.answer(.granted(try agent.granted("new-\(refresh.session)")))
        }
        #expect(
            try await Polling.until {
                let answer = try await agent.peer().exchange("GET", "/v1/sessions/home/token")
                return try accessToken(answer) == "new-home"
            }
        )
        #expect(agent.serving.refreshCount == 2)
        await agent.stop()
    }

    @Test(.holds("106"), arguments: [true, false])
    func `a server that is away keeps a token in use until its own end`(isPast: Bool) async throws {
        let agent = try await AgentHarness()
        let first = token(of: agent, endsIn: isPast ? 3600 : 100_000)
        try await agent.logIn(token: first)
        agent.time.stepWallClock(by: Self.pause)
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token?timeout=0"))
        let refresh = await agent.serving.nextRefresh()
        refresh.answer(.failed(RefreshFailure(kind: .busy, message: "away")))
        let answer = try await peer.answer()
        #expect(answer.status == (isPast ? 503 : 200))
        if !isPast { #expect(try accessToken(answer) == first) }
        await agent.stop()
    }
}
