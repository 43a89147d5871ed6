// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing

/// The response of each route while the agent is locked.
@Suite(.timeLimit(.minutes(10)))
struct LockedRoutesTests {
    /// Routes that a locked agent rejects for every request, by the table of endpoints.
    private static let refused = Endpoint.allCases.map(\.traits).filter { !$0.worksLocked }.map { traits in
        let path = traits.path.replacing("NAME", with: "work").replacing("ID", with: "1").replacing(
            "N",
            with: "0"
        )
        return (traits.method.rawValue, "/v1" + path)
    }
    /// Routes that a locked agent answers without naming a session.
    private static let answered = ["/v1", "/v1/metrics", "/v1/doctor", "/v1/vault"]

    @Test(.holds("19")) func `a locked agent refuses every route but those that say how it stands`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn(account: "alice@example.org")
        let peer = try agent.peer()
        // Unlocked, a route that is not refused speaks of the session.
        #expect(try await peer.exchange("GET", "/v1/metrics").body.contains("work"))
        #expect(try await peer.exchange("POST", "/v1/lock").status == 200)
        #expect(Self.refused.count >= 20)
        for (method, target) in Self.refused {
            let answer = try await peer.exchange(method, target, body: method == "POST" ? "{}" : nil)
            #expect(answer.status == 423, "\(method) \(target)")
            #expect(Self.isSilent(answer, of: target), "\(answer.body)")
        }
        for target in Self.answered {
            let answer = try await peer.exchange("GET", target)
            #expect(answer.status == 200, "\(target)")
            #expect(Self.isSilent(answer, of: target), "\(answer.body)")
        }
        let events = try agent.peer()
        #expect(try await events.exchange("GET", "/v1/events?session=nosuch").status == 404)
        try events.send(SocketPeer.request("GET", "/v1/events?session=work"))
        _ = try await events.streamHead()
        #expect(try await peer.exchange("POST", "/v1/unlock", body: #"{"passphrase":"no"}"#).status == 403)
        await agent.advance(by: .milliseconds(100))
        let right = #"{"passphrase":"open sesame"}"#
        #expect(try await peer.exchange("POST", "/v1/unlock", body: right).status == 200)
        #expect(try await events.chunk().contains("\"unlocked\""))
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        Attachment.record("\(Self.refused.count) routes refused", named: "figure")
        await agent.stop()
    }

    /// Returns `true` if the response contains nothing about the session that the request did not contain.
    private static func isSilent(_ answer: SocketPeer.Answer, of target: String) -> Bool {
        let hidden =
            ["token-1", "alice@example.org", "id.example"] + (target.contains("work") ? [] : ["work"])
        return !hidden.contains { answer.body.contains($0) }
    }
}
