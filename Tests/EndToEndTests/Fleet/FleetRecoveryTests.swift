// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Responses that the guard of a killed agent has recorded and that the fleet then uses.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetRecoveryTests {
        private func sent(_ scene: FleetScene) -> [String?] {
            scene.issuer.requests(to: "/token").map { $0.form["refresh_token"] }
        }

        @Test(.holds("262"))
        func `the answer to a killed agent is the record of all hosts as soon as it is started again`()
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
                // The recorded refresh token is valid.
                #expect(try await scene.keepers[1].tokenctl("refresh", "work").status == 0)
                #expect(Set(sent(scene)).count == 2)
            }
        }

        @Test(.holds("262")) func `it is served although etcd is away, and is the others' when etcd is back`()
            async throws
        {
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

        @Test(.holds("262"), arguments: [["logout", "work", "--local"], ["fleet", "leave", "work"]])
        func `a host that leaves as soon as it is started again leaves its answer behind`(
            words: [String]
        )
            async throws
        {
            try await FleetScene.whileRunning(over: CertificateAuthority()) { scene in
                let (host, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: host)
                let first = try #require(try await scene.commonToken())
                let exchange = try await GuardProcess.left(by: host, scene.issuer)
                scene.issuer.release()
                #expect(try await exchange.ends())
                try await host.start()
                let result = try await host.tokenctl(words)
                #expect(result.status == 0, "\(result)\(host.log)")
                let isTaken = try await Polling.until {
                    let token = try await scene.token(of: other)
                    return token != nil && token != first
                }
                #expect(isTaken, "\(host.log)\(other.log)")
                #expect(sent(scene).count == 1)
                #expect(try await other.tokenctl("refresh", "work").status == 0)
            }
        }

        @Test(.holds("262"))
        func `an agent that is started before the answer waits for it, however often it is killed meanwhile`()
            async throws
        {
            try await FleetScene.whileRunning(over: CertificateAuthority()) { scene in
                let host = scene.keepers[0]
                try await scene.logIn(at: host)
                let first = try #require(try await scene.commonToken())
                _ = try await GuardProcess.left(by: host, scene.issuer)
                for _ in 0..<4 {
                    try await host.start()
                    #expect(try await host.reaches("refreshing", "work"))
                    try await host.kill()
                }
                try await host.start()
                #expect(try await host.reaches("refreshing", "work"))
                scene.issuer.release()
                #expect(try await scene.commonToken(besides: first) != nil, "\(host.log)")
                #expect(sent(scene).count == 1)
            }
        }

        @Test(.holds("262"))
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

        @Test func `a login wins over the logout before it, whatever the host has forgotten`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let token = try #require(try await scene.commonToken())
                #expect(try await one.tokenctl("logout", "work").status == 0)
                try await scene.etcd("term", "n1")
                try await one.end()
                try await one.start()
                // Another host may have logged in meanwhile.
                #expect(try await one.tokenctl("get", "work").status == 5)
                try await scene.logIn(at: one)
                try await scene.etcd("up", "n1")
                let next = try #require(try await scene.commonToken(), "\(one.log)")
                #expect(next != token)
                #expect(try await scene.token(of: other) == next)
            }
        }

        @Test func `an etcd that is put back undoes no logout`() async throws {
            try await FleetScene.whileRunning { scene in
                try await scene.logIn(at: scene.keepers[0])
                _ = try #require(try await scene.commonToken())
                try await scene.etcd("snapshot", scene.work.path("snapshot"))
                #expect(try await scene.keepers[0].tokenctl("logout", "work").status == 0)
                let isOut = try await Polling.until {
                    try await scene.keepers[1].tokenctl("get", "work").status == 4
                }
                #expect(isOut)
                for host in scene.hosts { try await host.end() }
                try await scene.etcd("restore", scene.work.path("snapshot"))
                for host in scene.hosts { try await host.start() }
                let isPutRight = try await Polling.until {
                    try await scene.record(at: scene.keepers[1])?["state"]?.string == "logged_out"
                }
                #expect(isPutRight)
                for host in scene.hosts { #expect(try await host.tokenctl("get", "work").status == 4) }
            }
        }

        @Test func `a reader that becomes a keeper takes over the refresh token`() async throws {
            try await FleetScene.whileRunning(keepers: 1, readers: 1) { scene in
                let (keeper, host) = (scene.keepers[0], scene.readers[0])
                try await scene.logIn(at: keeper)
                let token = try #require(try await scene.commonToken())
                let text = try #require(File.text(host.configurationPath))
                try await host.end()
                let role = text.replacing("role = \"reader\"", with: "role = \"keeper\"")
                try host.configure(role.replacing("key.reader", with: "key"))
                try await host.start()
                let isDone = try await Polling.until {
                    try await host.tokenctl("refresh", "work").status == 0
                }
                #expect(isDone)
                #expect(try await scene.commonToken(besides: token) != nil)
            }
        }

        @Test func `access tokens that readers do not find are written again`() async throws {
            try await FleetScene.whileRunning(keepers: 1, readers: 1) { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                let keys = try await scene.etcd("ctl", "get", "--prefix", "/tokenagent/", "--keys-only")
                let access = try #require(keys.split(separator: "\n").first { $0.hasSuffix("/at") })
                for damage in [["del", String(access)], ["put", String(access), "garbage"]] {
                    try await scene.etcd(["ctl"] + damage)
                    let isWhole = try await Polling.until {
                        try await scene.record(at: scene.readers[0])?["state"]?.string == "live"
                    }
                    #expect(isWhole, "\(damage)")
                    #expect(try await scene.token(of: scene.readers[0]) == token)
                }
                #expect(scene.refreshes == 0)
            }
        }
    }
}
