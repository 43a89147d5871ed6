// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// One server among several that does its worst.
    @Suite(.full) struct HostileIssuerTests {
        private static let faults: [Disturbance] = [
            Disturbance(ending: .hang), Disturbance(ending: .drip(bytesPerSecond: 1)),
            Disturbance(ending: .reset(afterBytes: 20)), Disturbance(ending: .finish(afterBytes: 20)),
            Disturbance(reply: IssuerResponse(status: 200, body: Array(repeating: 0x20, count: 2 << 20))),
            Disturbance(reply: IssuerResponse(status: 200, headers: [("Content-Encoding", "gzip")])),
            Disturbance(reply: .redirect(to: "http://127.0.0.1:1/token", status: 307)),
        ]

        @Test(.holds("89")) func `25 sessions at a server that does its worst hinder none of 25 others`()
            async throws
        {
            let scene = try await Scene { $0.accessLifetime = .seconds(12) }
            let hostile = try await DemoIssuer.start()
            hostile.settings.accessLifetime = .seconds(3)
            let good = (0..<25).map { "good\($0)" }
            let bad = (0..<25).map { "bad\($0)" }
            let tables =
                good.map { Scene.session($0, scene.issuer) } + bad.map { Scene.session($0, hostile) }
            try scene.agent.configure(tables.joined())
            try await scene.agent.start()
            for name in good + bad { try await scene.logIn(name) }
            let (calm, _) = try await gets(good, for: .seconds(1), scene)
            for fault in (0..<60).flatMap({ _ in Self.faults }) { hostile.queue(fault) }
            let asked = scene.refreshes
            // Every session of the good server has to be refreshed meanwhile.
            let (times, least) = try await gets(good, for: .seconds(12), scene)
            #expect(hostile.tokenRequests("refresh_token") > 0)
            #expect(scene.refreshes >= asked + good.count)
            // A late refresh would show as a token used up to its end.
            #expect(least >= 1)
            for name in good { #expect(try await scene.agent.status(name)["last_error"] == nil) }
            // On a machine that is slow by itself, not much slower than without the hostile server.
            let slowest = times[times.count * 99 / 100]
            #expect(slowest <= max(.milliseconds(20), calm[calm.count * 99 / 100] * 5))
            Attachment.record(
                """
                \(times.count) gets, p99 \(slowest), at least \(least) s of life left, \
                \(hostile.tokenRequests("refresh_token")) requests spoiled
                """,
                named: "figure"
            )
        }

        /// Asks for the sessions' tokens in turn; returns the sorted times and the shortest life of a token.
        private func gets(
            _ names: [String],
            for span: Duration,
            _ scene: Scene
        ) async throws -> ([Duration], Int64) {
            var times: [Duration] = []
            var least = Int64.max
            let end = ContinuousClock.now + span
            while ContinuousClock.now < end {
                for name in names {
                    let start = ContinuousClock.now
                    let reply = try await scene.agent.socket.request("GET", "/v1/sessions/\(name)/token")
                    times.append(ContinuousClock.now - start)
                    #expect(reply.status == 200)
                    least = min(least, reply.json?["expires_in"]?.integer ?? 0)
                }
            }
            return (times.sorted(), least)
        }

        @Test(.holds("105", "O25"))
        func `whatever two sessions do, no secret of one reaches the other's server`() async throws {
            let scene = try await Scene { $0.rotation = .strict }
            let other = try await DemoIssuer.start()
            other.settings.rotation = .grace(.seconds(30))
            try scene.agent.configure(Scene.session("work", scene.issuer) + Scene.session("home", other))
            try await scene.agent.start()
            for name in ["work", "home"] { try await scene.logIn(name) }
            var chance = SeededChance(state: 20_260_101)
            for _ in 0..<1_000 {
                let name = chance.next() % 2 == 0 ? "work" : "home"
                try await operate(chance.next() % 10, name, scene, other)
            }
            let mine = shown(to: scene.issuer)
            let theirs = shown(to: other)
            #expect(!mine.isEmpty && !theirs.isEmpty)
            #expect(mine.isDisjoint(with: theirs))
            Attachment.record(
                "1000 operations, \(mine.count) and \(theirs.count) secrets, 0 in common",
                named: "figure"
            )
        }

        private func operate(
            _ choice: UInt64,
            _ name: String,
            _ scene: Scene,
            _ other: DemoIssuer
        ) async throws {
            let (own, foreign) = name == "work" ? (scene.issuer, other) : (other, scene.issuer)
            let base = "/v1/sessions/\(name)"
            let login = #"{"flow":"password","username":"alice","secret":"alice-password"}"#
            let socket = scene.agent.socket
            switch choice {
            case 0:
                // The server sends the refresh token to the other one.
                own.queue(.redirect(to: "\(foreign.issuer)/token", status: 307))
                _ = try await socket.request("POST", "\(base)/refresh?timeout=1")
            case 1...3: _ = try await socket.request("POST", "\(base)/refresh?timeout=2")
            case 4: _ = try await socket.request("POST", "\(base)/logout", body: #"{"local":false}"#)
            case 5: _ = try await socket.request("GET", "\(base)/token?scope=api&timeout=2")
            case 6, 7: _ = try await socket.request("POST", "\(base)/login", body: login)
            default: _ = try await socket.request("GET", "\(base)/token?timeout=2")
            }
        }

        /// Every token the issuer was shown.
        private func shown(to issuer: DemoIssuer) -> Set<String> {
            Set(
                issuer.requests().flatMap { [$0.form["refresh_token"], $0.form["token"]] }.compactMap(\.self)
            )
        }
    }
}

/// The same choices in every run.
private struct SeededChance: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33
    }
}
