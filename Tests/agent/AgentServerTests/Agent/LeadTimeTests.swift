// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentServer

extension SessionAgent {
    /// Returns `true` if a refresh of the session has begun.
    fileprivate func hasBegun(_ name: SessionName) -> Bool {
        parts.registry[name]?.session.attemptInFlight != nil
    }
}

/// The times at which the agent refreshes by itself.
///
/// The test moves the clock.
@Suite(.timeLimit(.minutes(10)))
struct LeadTimeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var lifetime: Duration
        /// The minimum time between the refresh and the token's expiry.
        var lead: Duration
        /// The maximum jitter, by which the refresh may be earlier.
        var window: Duration

        var testDescription: String { "\(lifetime) → \(lead)" }

        static let all = [
            Row(lifetime: .seconds(15 * 60), lead: .seconds(5 * 60), window: .seconds(15)),
            Row(lifetime: .seconds(60 * 60), lead: .seconds(5 * 60), window: .seconds(15)),
            Row(lifetime: .seconds(60), lead: .seconds(20), window: .seconds(1)),
        ]
    }

    @Test(arguments: Row.all, [0, 0.5, 0.999])
    func `the request is sent at its lead time, earlier by chance, never later`(
        row: Row,
        chance: Double
    ) async throws {
        let agent = try await AgentHarness(chance: chance)
        try await agent.logIn(lifetime: row.lifetime)
        let due = row.lifetime - row.lead - row.window * chance
        await agent.advance(by: due - .milliseconds(1))
        #expect(await agent.runtime.agent.hasBegun(AgentHarness.work) == false)
        await agent.advance(by: .milliseconds(1))
        #expect(await agent.runtime.agent.hasBegun(AgentHarness.work))
        let refresh = await agent.serving.nextRefresh()
        refresh.answer(.granted(try agent.granted("token-2", lifetime: row.lifetime)))
        #expect(try await Polling.until { await !agent.runtime.agent.hasBegun(AgentHarness.work) })
        // The lifetime of the new token counts from the time of its request.
        await agent.advance(by: due - .milliseconds(1))
        #expect(await agent.runtime.agent.hasBegun(AgentHarness.work) == false)
        await agent.advance(by: .milliseconds(1))
        #expect(await agent.runtime.agent.hasBegun(AgentHarness.work))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-3")))
        #expect(agent.serving.refreshCount == 2)
        await agent.stop()
    }

    @Test(.holds("78"))
    func `a refusal in words that nobody knows means login required once the token has ended`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(600))
        let words = "id.example answered 200 x_grant_gone"
        let refusal = RefreshFailure(kind: .unexplained, code: "x_grant_gone", message: words)
        let peer = try agent.peer()
        var age = 0
        // After half of the remaining validity each time, then 15 s before expiry, just after it, and once more.
        for delay in [400, 100, 50, 35, 16, 31] {
            await agent.advance(by: .seconds(delay))
            age += delay
            let served = try await peer.exchange("GET", "/v1/sessions/work/token?timeout=0").status
            #expect(served == (age < 600 ? 200 : 503))
            #expect(!agent.observed.names.contains(.loginRequired))
            await agent.serving.nextRefresh().answer(.failed(refusal))
            #expect(try await Polling.until { await agent.runtime.agent.admittedAttempts == 0 })
        }
        #expect(agent.observed.names.count { $0 == .loginRequired } == 1)
        let refused = try await peer.exchange("GET", "/v1/sessions/work/token")
        #expect(refused.status == 401 && refused.body.contains("x_grant_gone"))
        await agent.advance(by: .seconds(3_600))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(
            try await Polling.until {
                try await peer.exchange("GET", "/v1/sessions/work/token?timeout=0").status == 200
            }
        )
        await agent.stop()
    }

    @Test(.holds("78"))
    func `a refusal in words that nobody knows is a mistake where there is no login to lose`()
        async throws
    {
        let agent = try await AgentHarness.configured { configuration, _ in
            configuration.sessions[AgentHarness.work]?.policy.startsByItself = true
        }
        let words = "id.example answered 400 x_no_such_thing"
        let refusal = RefreshFailure(kind: .unexplained, code: "x_no_such_thing", message: words)
        let peer = try agent.peer()
        for (delay, status) in [(0, 503), (31, 503), (31, 400), (31, 400)] {
            await agent.advance(by: .seconds(delay))
            await agent.serving.nextRefresh().answer(.failed(refusal))
            #expect(try await Polling.until { await agent.runtime.agent.admittedAttempts == 0 })
            let told = try await peer.exchange("GET", "/v1/sessions/work/token?timeout=0")
            #expect(told.status == status && told.body.contains("x_no_such_thing"), "\(told)")
        }
        #expect(!agent.observed.names.contains(.loginRequired))
        await agent.advance(by: .seconds(31))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-1")))
        #expect(
            try await Polling.until {
                try await peer.exchange("GET", "/v1/sessions/work/token?timeout=0").status == 200
            }
        )
        await agent.stop()
    }

    @Test(.holds("78")) func `a client that the server rejects is a mistake only after ten minutes`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(60))
        let words = "id.example answered 401 invalid_client"
        let refusal = RefreshFailure(kind: .clientRejected, code: "invalid_client", message: words)
        let peer = try agent.peer()
        for delay in [40, 15, 60, 120, 300, 105] {
            await agent.advance(by: .seconds(delay))
            let answer = try await peer.exchange("GET", "/v1/sessions/work/token?min_valid=50&timeout=0")
            #expect(answer.status == 503, "\(answer)")
            await agent.serving.nextRefresh().answer(.failed(refusal))
            #expect(try await Polling.until { await agent.runtime.agent.admittedAttempts == 0 })
        }
        let told = try await peer.exchange("GET", "/v1/sessions/work/token")
        #expect(told.status == 400 && told.body.contains("or the server is being changed"), "\(told)")
        #expect(told.body.contains("then run tokenctl refresh work"), "\(told)")
        await agent.advance(by: .seconds(900))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(
            try await Polling.until {
                try await peer.exchange("GET", "/v1/sessions/work/token").status == 200
            }
        )
        #expect(!agent.observed.names.contains(.loginRequired))
        await agent.stop()
    }

    @Test func `a network that returns hurries what could not be sent and lets the issuer be asked again`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn()
        try await agent.logIn(AgentHarness.home)
        await agent.advance(by: .seconds(3_300))
        let unreachable = RefreshFailure(kind: .unreachable, message: "no route to host")
        for _ in 0..<2 { await agent.serving.nextRefresh().answer(.failed(unreachable)) }
        #expect(try await Polling.until { await agent.runtime.agent.admittedAttempts == 0 })
        await agent.runtime.agent.networkReturned()
        #expect(agent.serving.networkReturns == 1)
        await agent.advance(by: .seconds(1))
        // Both are sent at once, because the failures were the network's and not the issuer's.
        let first = await agent.serving.nextRefresh()
        let second = await agent.serving.nextRefresh()
        #expect(Set([first.session, second.session]) == [AgentHarness.work, AgentHarness.home])
        for call in [first, second] { call.answer(.granted(try agent.granted("token-2"))) }
        await agent.stop()
    }
}
