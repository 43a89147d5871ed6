// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Servers that answer late, and an etcd that does.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable), .serialized) struct FleetSlownessTests {
        private static let grace = "reuse_grace = \"10s\"\n"

        private static func keep(_ settings: inout IssuerSettings) { settings.rotation = .none }

        private static func forgive(_ settings: inout IssuerSettings) {
            settings.rotation = .grace(.seconds(10))
        }

        @Test(.holds("263"), arguments: [(1, 4), (2, 4), (2, 7), (2, 12)])
        func `a server that acts at once and answers late loses no login`(
            keepers: Int,
            delay: Int64
        ) async throws {
            try await FleetScene.whileRunning(keepers: keepers, Self.forgive, session: Self.grace) { scene in
                try await scene.logIn(at: scene.keepers[0])
                let first = try #require(try await scene.commonToken())
                scene.issuer.queue(Disturbance(delay: .seconds(delay)), for: "/token", times: 8)
                try await withThrowingTaskGroup { group in
                    for host in scene.keepers {
                        group.addTask { _ = try await host.tokenctl("refresh", "work") }
                    }
                    try await group.waitForAll()
                }
                let next = try await scene.commonToken(besides: first)
                #expect(next != nil, "\(scene.keepers[0].log)")
                #expect((1...2).contains(scene.refreshes))
                // What counts at the server is what the fleet has.
                scene.issuer.clearQueue()
                let last = try #require(scene.keepers.last)
                let refreshed = try await last.tokenctl("refresh", "work")
                #expect(refreshed.status == 0, "\(refreshed) \(last.log)")
                #expect(try await scene.record(at: last)?["state"]?.string == "live")
            }
        }

        @Test
        func `once a server is known to keep its refresh tokens a lost answer is asked for again at once`()
            async throws
        {
            try await FleetScene.whileRunning(Self.keep) { scene in
                let host = scene.keepers[0]
                try await scene.logIn(at: host)
                for _ in 0..<4 {
                    #expect(try await host.tokenctl("refresh", "work").status == 0, "\(host.log)")
                }
                let first = try #require(try await scene.commonToken())
                scene.issuer.queue(Disturbance(ending: .reset(afterBytes: 0)), for: "/token")
                let refreshed = try await host.tokenctl("refresh", "work")
                #expect(refreshed.status == 0, "\(refreshed) \(host.log)")
                #expect(try await scene.commonToken(besides: first) != nil)
                // Whichever host had the answers.
                scene.issuer.queue(Disturbance(ending: .reset(afterBytes: 0)), for: "/token")
                let other = scene.keepers[1]
                #expect(try await other.tokenctl("refresh", "work").status == 0, "\(other.log)")
            }
        }

        @Test(.holds("263")) func `a slow etcd is given the time that it takes`() async throws {
            try await FleetScene.whileRunning(Self.forgive, session: Self.grace) { scene in
                let (host, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: other)
                let first = try #require(try await scene.commonToken())
                let relay = try await scene.relay(for: host)
                #expect(try await scene.commonToken() == first)
                // A lease and a reservation take 1.8 s, and of a lease of 5 s there are 1.5 to send in.
                try await relay.delay(by: .milliseconds(450))
                let isRefreshed = try await Polling.until(within: .seconds(60)) {
                    try await host.tokenctl("refresh", "work").status == 0
                }
                #expect(isRefreshed, "\(host.log)")
                #expect(scene.refreshes == 1)
                try await relay.delay(by: .zero)
                #expect(try await scene.commonToken(besides: first) != nil)
            }
        }
    }
}
