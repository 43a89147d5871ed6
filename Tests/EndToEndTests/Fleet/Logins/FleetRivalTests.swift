// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Logins and logouts at one host that come before the one before has its end.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetRivalTests {
        @Test func `a login right after a logout is that of all hosts`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                for round in 1...8 {
                    try await scene.logIn(at: other)
                    let former = try #require(try await scene.commonToken())
                    async let out = other.tokenctl("logout", "work")
                    async let login = scene.tryLogIn(at: other)
                    let (left, entered) = try await (out, login)
                    // Whichever came first, each has an end, and what was said is so.
                    #expect(left.status == 0, "\(round): \(left)")
                    #expect([0, 8].contains(entered.status), "\(round): \(entered)")
                    guard try await other.tokenctl("get", "work").status == 0 else {
                        let isOut = try await Polling.until {
                            try await one.tokenctl("get", "work").status == 4
                        }
                        #expect(isOut, "\(round): \(other.log)")
                        continue
                    }
                    #expect(try await scene.commonToken(besides: former) != nil, "\(round): \(other.log)")
                    #expect(try await one.tokenctl("refresh", "work").status == 0, "\(round): \(other.log)")
                }
            }
        }

        @Test func `the first refresh after a logout and a login at one host reaches all hosts`() async throws
        {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: other)
                _ = try #require(try await scene.commonToken())
                #expect(try await other.tokenctl("logout", "work").status == 0)
                try await scene.logIn(at: other)
                let token = try #require(try await scene.commonToken())
                #expect(try await other.tokenctl("refresh", "work").status == 0)
                #expect(try await scene.commonToken(besides: token) != nil, "\(one.log)")
                #expect(try await one.tokenctl("refresh", "work").status == 0, "\(one.log)")
                #expect(scene.refreshes == 2)
            }
        }

        @Test func `of two logins at once at one host all hosts have the same`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                for round in 1...8 {
                    async let first = scene.tryLogIn(at: other)
                    async let second = scene.tryLogIn(at: other)
                    let statuses = try await [first.status, second.status].sorted()
                    #expect([[0, 0], [0, 8]].contains(statuses), "\(round): \(statuses)")
                    #expect(try await scene.commonToken() != nil, "\(round): \(other.log)")
                    #expect(try await one.tokenctl("refresh", "work").status == 0, "\(round): \(other.log)")
                    #expect(try await other.tokenctl("refresh", "work").status == 0, "\(round): \(other.log)")
                }
            }
        }

        @Test func `a logout after a login on its way to etcd is one at all hosts`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                _ = try #require(try await scene.commonToken())
                #expect(try await other.tokenctl("logout", "work").status == 0)
                try await scene.etcd("pause", "n1")
                async let login = scene.tryLogIn(at: other)
                #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(60)))
                async let out = other.tokenctl("logout", "work")
                // By the time that another program has its answer, that one has asked too.
                _ = try await other.tokenctl("status", "work")
                try await scene.etcd("resume", "n1")
                let (left, entered) = try await (out, login)
                #expect([0, 5].contains(left.status), "\(left)")
                #expect([0, 8].contains(entered.status), "\(entered)")
                for host in [one, other] {
                    let isOut = try await Polling.until(within: .seconds(60)) {
                        try await host.tokenctl("get", "work").status == 4
                    }
                    #expect(isOut, "\(host.log)")
                }
            }
        }

        @Test func `whatever is asked while etcd says nothing has an end, and all hosts come to the same`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                _ = try #require(try await scene.commonToken())
                try await scene.etcd("pause", "n1")
                async let first = other.tokenctl("logout", "work")
                async let second = other.tokenctl("logout", "work")
                async let login = scene.tryLogIn(at: other)
                async let failing = other.tokenctl(
                    ["login", "work", "--flow", "password", "--username", "alice", "--password-stdin"],
                    input: "not-the-password\n"
                )
                for left in try await [first, second] {
                    #expect([0, 5].contains(left.status), "\(left) \(other.log)")
                }
                let (entered, failed) = try await (login, failing)
                #expect([0, 8].contains(entered.status), "\(entered) \(other.log)")
                #expect([4, 8].contains(failed.status), "\(failed) \(other.log)")
                try await scene.etcd("resume", "n1")
                let isSame = try await Polling.until(within: .seconds(90)) {
                    try await scene.token(of: one) == scene.token(of: other)
                }
                #expect(isSame, "\(one.log) \(other.log)")
                let status = try await other.tokenctl("refresh", "work").status
                #expect(try await one.tokenctl("refresh", "work").status == status, "\(one.log) \(other.log)")
            }
        }

        @Test func `a login that fails leaves the one alone that is on its way to etcd`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let former = try #require(try await scene.commonToken())
                try await scene.etcd("pause", "n1")
                async let login = scene.tryLogIn(at: other)
                #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(60)))
                async let failing = other.tokenctl(
                    ["login", "work", "--flow", "password", "--username", "alice", "--password-stdin"],
                    input: "not-the-password\n"
                )
                // By the time that another program has its answer, that one has asked too.
                _ = try await other.tokenctl("status", "work")
                try await scene.etcd("resume", "n1")
                let (entered, failed) = try await (login, failing)
                #expect(entered.status == 0, "\(entered)")
                #expect(failed.status == 4, "\(failed)")
                #expect(try await scene.commonToken(besides: former) != nil, "\(other.log)")
                #expect(try await other.tokenctl("refresh", "work").status == 0, "\(other.log)")
                #expect(try await one.tokenctl("refresh", "work").status == 0, "\(one.log)")
            }
        }
    }
}
