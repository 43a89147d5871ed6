// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Logins and logouts at a host that knows less than etcd has.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetLogoutTests {
        @Test func `a logout right after a start ends the login that another host has made meanwhile`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let token = try #require(try await scene.commonToken())
                try await other.end()
                try await scene.logIn(at: one)
                #expect(try await scene.commonToken(of: [one], besides: token) != nil)
                try await other.start()
                let left = try await other.tokenctl("logout", "work")
                #expect(left.status == 0, "\(left) \(other.log)")
                for host in scene.hosts { #expect(try await isLoggedOut(host), "\(host.log)") }
            }
        }

        @Test func `a logout that cannot see whether others are logged in says so`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                _ = try #require(try await scene.commonToken())
                #expect(try await one.tokenctl("logout", "work").status == 0)
                #expect(try await isLoggedOut(other))
                try await other.end()
                try await scene.etcd("kill", "n1")
                try await other.start()
                // Somebody may have logged in since.
                #expect(try await other.tokenctl("get", "work").status == 5)
                for _ in 1...2 {
                    let refused = try await other.tokenctl("logout", "work")
                    #expect(refused.status == 5, "\(refused)")
                    #expect(refused.standardError.contains("cannot reach etcd"), "\(refused)")
                }
                try await scene.etcd("up", "n1")
                let isSeen = try await Polling.until {
                    try await other.tokenctl("logout", "work").status == 0
                }
                #expect(isSeen, "\(other.log)")
            }
        }

        @Test func `a host that starts does not ask for a login that another one has made meanwhile`()
            async throws
        {
            try await FleetScene.whileRunning(readers: 1) { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                _ = try #require(try await scene.commonToken())
                #expect(try await one.tokenctl("logout", "work").status == 0)
                let late = [other, scene.readers[0]]
                for host in late {
                    #expect(try await isLoggedOut(host), "\(host.log)")
                    try await host.end()
                }
                try await scene.logIn(at: one)
                let token = try #require(try await scene.token(of: one))
                for host in late {
                    try await host.start()
                    let first = try await host.tokenctl("get", "work")
                    #expect(first.line == token, "\(first) \(host.log)")
                }
            }
        }

        @Test func `a logout while its host leaves logs nobody else out, and does not say so`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let relay = try await scene.relay(for: other)
                try await scene.logIn(at: one)
                _ = try #require(try await scene.commonToken())
                try await relay.hold()
                async let login = scene.tryLogIn(at: other)
                #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(60)))
                async let leave = other.tokenctl("fleet", "leave", "work")
                _ = try await other.tokenctl("status", "work")
                async let out = other.tokenctl("logout", "work")
                _ = try await other.tokenctl("status", "work")
                try await relay.release()
                let (entered, left, refused) = try await (login, leave, out)
                // The host may have left before the server had answered the login.
                #expect([0, 8].contains(entered.status), "\(entered)")
                #expect(left.status == 0, "\(left) \(other.log)")
                // A busy machine may start the second command sooner: then it is a logout of all hosts.
                guard refused.status != 0 else { return #expect(try await isLoggedOut(one), "\(one.log)") }
                #expect(refused.status == 2, "\(refused)")
                #expect(refused.standardError.contains("has left the fleet"), "\(refused)")
                #expect(try await one.tokenctl("get", "work").status == 0, "\(one.log)")
                #expect(try await one.tokenctl("refresh", "work").status == 0, "\(one.log)")
            }
        }

        @Test func `a logout that another host's login overtakes says so, and its tokens are revoked`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let relay = try await scene.relay(for: other)
                try await scene.logIn(at: one)
                let token = try #require(try await scene.commonToken())
                try await relay.hold()
                async let out = other.tokenctl("logout", "work")
                #expect(try await isLoggedOut(other))
                try await scene.logIn(at: one)
                try await relay.release()
                let overtaken = try await out
                #expect(overtaken.status == 8, "\(overtaken) \(other.log)")
                let said = overtaken.standardError
                #expect(said.contains("another login came first"), "\(said)")
                #expect(said.contains("tokenctl logout work"), "\(said)")
                #expect(
                    await scene.issuer.hasReceived(1, to: "/revoke", within: .seconds(60)),
                    "\(other.log)"
                )
                let next = try #require(try await scene.commonToken(), "\(other.log)")
                #expect(next != token)
                for host in scene.hosts {
                    #expect(try await host.tokenctl("refresh", "work").status == 0, "\(host.log)")
                }
            }
        }

        @Test func `a login after a start brings a host back that has left`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let token = try #require(try await scene.commonToken())
                #expect(try await other.tokenctl("fleet", "leave", "work").status == 0)
                try await other.end()
                try await other.start()
                try await scene.logIn(at: other)
                let own = try #require(try await scene.token(of: other))
                #expect(own != token)
                let common = try #require(try await scene.commonToken(besides: token), "\(other.log)")
                #expect(common == own)
                #expect(try await one.tokenctl("refresh", "work").status == 0, "\(one.log)")
                #expect(try await other.tokenctl("refresh", "work").status == 0, "\(other.log)")
            }
        }

        @Test func `a host that has left and cannot ask the fleet does not log in`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let token = try #require(try await scene.commonToken())
                #expect(try await other.tokenctl("fleet", "leave", "work").status == 0)
                try await other.end()
                try await scene.etcd("kill", "n1")
                try await other.start()
                let refused = try await scene.tryLogIn(at: other)
                #expect(refused.status == 5, "\(refused)")
                #expect(refused.standardError.contains("cannot reach etcd"), "\(refused)")
                try await scene.etcd("up", "n1")
                try await scene.logIn(at: other)
                #expect(try await scene.commonToken(besides: token) != nil, "\(other.log)")
            }
        }

        @Test func `a lock ends the waiting of a login that this host has, and the others get it later`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                let other = scene.keepers[1]
                let relay = try await scene.relay(for: other)
                #expect(try await other.tokenctl("get", "work").status == 4)
                try await relay.hold()
                async let login = scene.tryLogIn(at: other)
                #expect(await scene.issuer.hasReceived(1, to: "/token", within: .seconds(60)))
                #expect(try await other.tokenctl("lock").status == 0)
                let ended = try await login
                #expect(ended.status == 0, "\(ended)")
                try await relay.release()
                #expect(try await other.tokenctl("unlock").status == 0)
                #expect(try await scene.commonToken() != nil, "\(other.log)")
            }
        }

        /// Waits until `host` says that nobody is logged in.
        private func isLoggedOut(_ host: AgentUnderTest) async throws -> Bool {
            try await Polling.until { try await host.tokenctl("get", "work").status == 4 }
        }
    }
}
