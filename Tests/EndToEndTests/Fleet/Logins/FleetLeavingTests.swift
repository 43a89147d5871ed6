// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// A host that gives a session up, by command or by its configuration.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetLeavingTests {
        @Test(arguments: [["logout", "work", "--local"], ["fleet", "leave", "work"]])
        func `a host that leaves during its refresh leaves the answer to the others`(
            command: [String]
        ) async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let (token, refresh) = try await scene.holdRefresh(at: other)
                async let left = other.tokenctl(command)
                scene.issuer.release()
                #expect(try await left.status == 0)
                try await refresh.value
                #expect(try await scene.commonToken(of: [one], besides: token) != nil, "\(one.log)")
                #expect(try await other.tokenctl("get", "work").status == 4)
                #expect(try await one.tokenctl("refresh", "work").status == 0)
                #expect(scene.issuer.requests(to: "/revoke").isEmpty)
            }
        }

        @Test func `what this host alone has keeps it from leaving`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let token = try await scene.refreshWithoutEtcd(at: other)
                let refused = try await other.tokenctl("logout", "work", "--local")
                #expect(refused.status == 5, "\(refused)")
                #expect(refused.standardError.contains("not yet in etcd: the newest tokens"), "\(refused)")
                try await scene.etcd("up", "n1")
                let next = try #require(try await scene.commonToken(besides: token), "\(other.log)")
                #expect(try await other.tokenctl("logout", "work", "--local").status == 0)
                #expect(try await scene.token(of: one) == next)
            }
        }

        @Test func `a login wins over an answer that etcd does not have yet`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.refreshWithoutEtcd(at: other)
                try await scene.logIn(at: other)
                let token = try #require(try await scene.token(of: other))
                try await scene.etcd("up", "n1")
                let isCommon = try await Polling.until { try await scene.commonToken() == token }
                #expect(isCommon, "\(other.log)")
                #expect(try await one.tokenctl("refresh", "work").status == 0, "\(other.log)")
                #expect(try await other.tokenctl("refresh", "work").status == 0)
            }
        }

        @Test func `a logout that etcd does not have yet is not forgotten`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                _ = try #require(try await scene.commonToken())
                try await scene.etcd("kill", "n1")
                #expect(try await other.tokenctl("logout", "work").status == 5)
                let status = try await other.tokenctl("status", "work").standardOutput
                #expect(status.contains("the other hosts are still logged in"), "\(status)")
                let refused = try await other.tokenctl("logout", "work", "--local")
                #expect(refused.status == 5, "\(refused)")
                #expect(refused.standardError.contains("not yet in etcd: the logout"), "\(refused)")
                try await scene.etcd("up", "n1")
                let isOut = try await Polling.until { try await one.tokenctl("get", "work").status == 4 }
                #expect(isOut, "\(other.log)")
            }
        }

        /// The login may come before the answer, after it, or while that is being written down.
        @Test(arguments: 1...4)
        func `a login during a refresh is that of all hosts`(turn: Int) async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let (token, refresh) = try await scene.holdRefresh(at: other)
                async let login: Void = scene.logIn(at: other)
                #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(60)))
                scene.issuer.release()
                try await login
                try await refresh.value
                #expect(try await scene.commonToken(besides: token) != nil, "\(other.log)")
                #expect(try await one.tokenctl("refresh", "work").status == 0, "\(other.log)")
                #expect(try await other.tokenctl("refresh", "work").status == 0, "\(other.log)")
            }
        }

        @Test(arguments: [["logout", "work", "--local"], ["fleet", "leave", "work"]])
        func `a host that leaves during a refresh and a login takes nothing with it`(
            command: [String]
        ) async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let (token, refresh) = try await scene.holdRefresh(at: other)
                // It is over if the host leaves before the server has answered it.
                let login = Task { try await scene.tryLogIn(at: other) }
                #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(60)))
                async let left = other.tokenctl(command)
                scene.issuer.release()
                let loggedIn = try await login.value
                #expect([0, 8].contains(loggedIn.status), "\(loggedIn)")
                try await refresh.value
                #expect(try await left.status == 0)
                #expect(try await scene.commonToken(of: [one], besides: token) != nil, "\(other.log)")
                #expect(try await one.tokenctl("refresh", "work").status == 0, "\(other.log)")
            }
        }

        @Test func `a login that etcd does not have yet is not left behind, unless it is meant`() async throws
        {
            try await FleetScene.whileRunning { scene in
                let other = scene.keepers[1]
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                try await scene.etcd("kill", "n1")
                try await scene.logIn(at: other)
                let refused = try await other.tokenctl("fleet", "leave")
                #expect(refused.status == 5, "\(refused)")
                #expect(refused.standardError.contains("not yet in etcd: the latest login"), "\(refused)")
                #expect(try await scene.token(of: other) != token)
                #expect(try await other.tokenctl("logout", "work", "--local").status == 0)
                #expect(try await other.tokenctl("get", "work").status == 4)
            }
        }

        @Test func `a host leaves without etcd, and the list of hosts hears of it later`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let token = try #require(try await scene.commonToken())
                try await scene.etcd("kill", "n1")
                let left = try await other.tokenctl("fleet", "leave")
                #expect(left.status == 0, "\(left)")
                #expect(left.standardOutput.contains("this host stays in the list of hosts"), "\(left)")
                try await scene.etcd("up", "n1")
                let isGone = try await Polling.until(within: .seconds(60)) {
                    try await scene.status(at: one)["hosts"]?.array?.count == 1
                }
                #expect(isGone, "\(other.log)")
                #expect(try await scene.token(of: one) == token)
            }
        }

        @Test func `a host that has left logs nobody else out, and does not say so`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let token = try #require(try await scene.commonToken())
                #expect(try await other.tokenctl("fleet", "leave", "work").status == 0)
                let refused = try await other.tokenctl("logout", "work", "--all-hosts")
                #expect(refused.status == 2, "\(refused)")
                #expect(refused.standardError.contains("tokenctl fleet join work"), "\(refused)")
                #expect(try await other.tokenctl("logout", "work", "--local").status == 0)
                #expect(try await scene.token(of: one) == token)
            }
        }

        @Test func `leaving lasts whatever the table says meanwhile, and joining over a restart`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let token = try #require(try await scene.commonToken())
                #expect(try await other.tokenctl("fleet", "leave", "work").status == 0)
                let text = try #require(File.text(other.configurationPath))
                try other.configure(text.replacing("fleet = true", with: ""))
                #expect(try await other.tokenctl("reload").status == 0)
                try other.configure(text)
                #expect(try await other.tokenctl("reload").status == 0)
                #expect(try await other.tokenctl("get", "work").status == 4)
                try await scene.etcd("term", "n1")
                _ = try await other.tokenctl("fleet", "join", "work")
                try await other.end()
                try await other.start()
                try await scene.etcd("up", "n1")
                #expect(try await scene.commonToken() == token)
            }
        }
    }
}
