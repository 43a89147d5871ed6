// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// What the guard of a killed agent has recorded is the fleet's.
    @Suite(.enabled(if: FleetScene.etcd.isAvailable)) struct FleetRecoveryTests {
        private func sent(_ scene: FleetScene) -> [String?] {
            scene.issuer.requests(to: "/token").map { $0.form["refresh_token"] }
        }

        @Test func `the answer to a killed agent is the record of all hosts as soon as it is started again`()
            async throws
        {
            try await FleetScene.whileRunning(over: CertificateAuthority()) { scene in
                try await scene.logIn(at: scene.keepers[0])
                let first = try #require(try await scene.commonToken())
                let exchange = try await GuardProcess.left(by: scene.keepers[0], scene.issuer)
                scene.issuer.release()
                #expect(try await exchange.ends())
                try await scene.keepers[0].start()
                #expect(
                    try await scene.commonToken(besides: first) != nil,
                    "\(scene.keepers[0].log)\(scene.keepers[1].log)"
                )
                #expect(sent(scene).count == 1)
                #expect(try await scene.generation(at: scene.keepers[1]) == 1)
                // It is a good one.
                #expect(try await scene.keepers[1].tokenctl("refresh", "work").status == 0)
                #expect(Set(sent(scene)).count == 2)
            }
        }

        @Test func `it is served although etcd is away, and is the others' when etcd is back`() async throws {
            try await FleetScene.whileRunning(over: CertificateAuthority()) { scene in
                let host = scene.keepers[0]
                try await scene.logIn(at: host)
                let first = try #require(try await scene.commonToken())
                let exchange = try await GuardProcess.left(by: host, scene.issuer)
                scene.issuer.release()
                #expect(try await exchange.ends())
                try await scene.etcd("term", "n1")
                try await host.start()
                let isTaken = try await Polling.until {
                    let token = try await scene.token(of: host)
                    return token != nil && token != first
                }
                #expect(isTaken, "\(host.log)")
                try await scene.etcd("up", "n1")
                #expect(try await scene.commonToken(besides: first) != nil, "\(host.log)")
                #expect(sent(scene).count == 1)
            }
        }

        @Test func `an agent that is started before the answer waits for it, also if it is killed once more`()
            async throws
        {
            try await FleetScene.whileRunning(over: CertificateAuthority()) { scene in
                let host = scene.keepers[0]
                try await scene.logIn(at: host)
                let first = try #require(try await scene.commonToken())
                _ = try await GuardProcess.left(by: host, scene.issuer)
                try await host.start()
                #expect(try await host.reaches("refreshing", "work"))
                try await host.kill()
                try await host.start()
                #expect(try await host.reaches("refreshing", "work"))
                scene.issuer.release()
                #expect(try await scene.commonToken(besides: first) != nil, "\(host.log)")
                #expect(sent(scene).count == 1)
            }
        }

        @Test
        func `without an answer the server's grace is used, and the request is not sent beside the first`()
            async throws
        {
            func forgive(_ settings: inout IssuerSettings) { settings.rotation = .grace(.seconds(60)) }
            try await FleetScene.whileRunning(
                over: CertificateAuthority(),
                forgive,
                session: "reuse_grace = \"60s\"\n"
            ) { scene in
                let host = scene.keepers[0]
                try await scene.logIn(at: host)
                let first = try #require(try await scene.commonToken())
                let exchange = try await GuardProcess.left(by: host, scene.issuer)
                exchange.signal(.kill)
                #expect(try await exchange.ends())
                scene.issuer.release()
                try await host.start()
                #expect(try await scene.commonToken(besides: first) != nil, "\(host.log)")
                #expect(sent(scene).count == 2)
                #expect(Set(sent(scene)).count == 1)
            }
        }
    }
}
