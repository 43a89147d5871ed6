// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

/// Tokens near their expiry.
@Suite(.timeLimit(.minutes(30)))
struct ExpiryTests {
    private static let lifetime = Duration.seconds(60)

    /// The results of the `get` requests so far.
    private struct Tally {
        var served = 0
        var refused = 0
        var short: [String] = []
    }

    /// Requests tokens around the expiry of tokens that are valid for one minute.
    ///
    /// The clock advances by up to 1.5 s between rounds, and the server responds to a refresh in one round of eight.
    @Test(.holds("112")) func `no get around an expiry brings a token with less life than it asked for`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn(token: "token-0", lifetime: Self.lifetime)
        var ends = ["token-0": agent.time.now + Self.lifetime]
        let peer = try agent.peer()
        let rounds = TestEnvironment.isFull ? 5_000 : 200
        var tally = Tally()
        for _ in 0..<rounds {
            agent.time.advance(by: .milliseconds(Int64.random(in: 0...1_500)))
            let minima = (0..<Self.getsPerRound).map { _ in Int64.random(in: 0...63) }
            try peer.send(minima.map { SocketPeer.request("GET", Self.target($0)) }.joined())
            for minimum in minima {
                try judge(await peer.answer(), minimum, ends, at: agent.time.now, &tally)
            }
            guard agent.serving.refreshCount >= ends.count, Int.random(in: 0..<8) == 0 else { continue }
            let token = "token-\(ends.count)"
            let end = agent.time.now + Self.lifetime
            await agent.serving.nextRefresh()
                .answer(.granted(try agent.granted(token, lifetime: Self.lifetime)))
            // Another thread stores the token before it is served.
            let refreshes = Int64(ends.count)
            #expect(try await Polling.until { try await Self.refreshes(peer) == refreshes })
            ends[token] = end
        }
        let gets = rounds * Self.getsPerRound
        #expect(tally.short.isEmpty, "\(tally.short.prefix(5))")
        #expect(tally.served > gets / 10 && tally.refused > gets / 20 && ends.count > rounds / 80)
        Attachment.record(
            "\(gets) gets over \(ends.count) tokens, \(tally.short.count) with too little life",
            named: "figure"
        )
        agent.stopSoon()
    }

    private static let getsPerRound = 20

    private func judge(
        _ answer: SocketPeer.Answer,
        _ minimum: Int64,
        _ ends: [String: Instant],
        at now: Instant,
        _ tally: inout Tally
    ) throws {
        guard answer.status == 200 else {
            tally.refused += 1
            return
        }
        tally.served += 1
        let object = try JSONValue(parsing: answer.body.utf8).object
        let token = object?["access_token"]?.string ?? ""
        let left = (ends[token] ?? now) - now
        let told = object?["expires_in"]?.integer ?? .max
        guard left <= .zero || left < .seconds(minimum) || told > left.components.seconds else { return }
        tally.short.append("\(token): \(left) left, \(told) told, \(minimum) asked for")
    }

    private static func target(_ minimum: Int64) -> String {
        "/v1/sessions/work/token?timeout=0" + (minimum == 0 ? "" : "&min_valid=\(minimum)")
    }

    private static func refreshes(_ peer: SocketPeer) async throws -> Int64? {
        let answer = try await peer.exchange("GET", "/v1/sessions/work")
        return try JSONValue(parsing: answer.body.utf8).object?["refreshes"]?.integer
    }
}
