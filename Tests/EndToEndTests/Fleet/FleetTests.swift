// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// One login on several hosts.
    @Suite(.enabled(if: FleetScene.etcd.isAvailable)) struct FleetTests {
        @Test(.holds("260")) func `a login at one host is one at all, and one refresh serves them`()
            async throws
        {
            try await FleetScene.whileRunning(keepers: 3) { scene in
                try await scene.logIn(at: scene.keepers[0])
                let first = try #require(try await scene.commonToken())
                for round in 1...3 {
                    let host = scene.keepers[round % 3]
                    #expect(try await host.tokenctl("refresh", "work").status == 0)
                    #expect(try await scene.commonToken(besides: first) != nil)
                    #expect(scene.refreshes == round)
                }
            }
        }

        @Test(.holds("260")) func `hosts whose token is due at the same time send one request`() async throws
        {
            try await FleetScene.whileRunning(keepers: 4) {
                $0.rotation = .strict
                $0.accessLifetime = .seconds(6)
            } _: { scene in
                try await scene.logIn(at: scene.keepers[0])
                let first = try #require(try await scene.commonToken())
                let second = try #require(try await scene.commonToken(besides: first))
                #expect(try await scene.commonToken(besides: second) != nil)
                // Which tokens there were is what the requests say; a busy machine may have let one more pass.
                let generation = try #require(try await scene.generation(at: scene.keepers[0]))
                #expect((generation...generation + 1).contains(scene.refreshes))
                #expect(generation >= 2)
            }
        }

        @Test(.holds("260")) func `many who ask at once on all hosts cause one refresh`() async throws {
            try await FleetScene.whileRunning(keepers: 3) { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                let results = try await withThrowingTaskGroup(of: Int32.self) { group in
                    for host in scene.keepers {
                        for _ in 0..<5 {
                            group.addTask {
                                try await host.tokenctl("report", "work", "--status", "401", input: token)
                                    .status
                            }
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(results.count == 15)
                #expect(try await scene.commonToken(besides: token) != nil)
                #expect(scene.refreshes == 1)
            }
        }

        @Test(.holds("267")) func `a logout at one host is one at all, and the server is told once`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                try await scene.logIn(at: scene.keepers[0])
                #expect(try await scene.commonToken() != nil)
                #expect(try await scene.keepers[1].tokenctl("logout", "work").status == 0)
                let isOut = try await Polling.until {
                    try await scene.keepers[0].tokenctl("get", "work").status == 4
                }
                #expect(isOut)
                #expect(try await scene.record(at: scene.keepers[0])?["state"]?.string == "logged_out")
                try await scene.logIn(at: scene.keepers[0])
                #expect(try await scene.commonToken() != nil)
            }
        }

        @Test(.holds("267"))
        func `a host that leaves forgets the session alone, also after a restart, until it joins`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let token = try #require(try await scene.commonToken())
                #expect(try await other.tokenctl("fleet", "leave", "work").status == 0)
                #expect(try await other.tokenctl("get", "work").status == 4)
                #expect(try await scene.token(of: one) == token)
                try await other.end()
                try await other.start()
                let refused = try await other.tokenctl("get", "work")
                #expect(refused.status == 4)
                #expect(refused.standardError.contains("tokenctl fleet join work"), "\(refused)")
                let status = try await other.tokenctl("status", "work").standardOutput
                #expect(status.contains("tokenctl fleet join work"), "\(status)")
                #expect(try await other.tokenctl("fleet", "join", "work").status == 0)
                #expect(try await scene.commonToken() == token)
            }
        }

        @Test(.holds("266")) func `a reader is given tokens, and asks the keepers for another`() async throws
        {
            try await FleetScene.whileRunning(keepers: 1, readers: 1) { scene in
                let none = try await scene.readers[0].tokenctl("get", "work")
                let remedy = "tokenctl login work at a host with role = \"keeper\""
                #expect(none.status == 4 && none.standardError.contains(remedy), "\(none)")
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                let reported = try await scene.readers[0].tokenctl(
                    "report",
                    "work",
                    "--status",
                    "401",
                    input: token
                )
                #expect(reported.status == 0, "\(reported.standardError)")
                #expect(try await scene.commonToken(besides: token) != nil)
                #expect(scene.refreshes == 1)
            }
        }

        @Test func `a reader looks before it says that the keepers have no token like this`() async throws {
            try await FleetScene.whileRunning(keepers: 1, readers: 1) { scene in
                let (keeper, reader) = (scene.keepers[0], scene.readers[0])
                try await scene.logIn(at: keeper)
                _ = try #require(try await scene.commonToken())
                let endpoints = try await scene.status(at: keeper)["etcd"]?.array
                let etcd = try #require(endpoints?.first?.object?["endpoint"]?.string)
                // It hears of nothing by itself.
                let gateway = try WithholdingGateway(before: etcd)
                let text = try #require(File.text(reader.configurationPath))
                try await reader.end()
                try reader.configure(text.replacing(etcd, with: gateway.address))
                try await reader.start()
                let lacking = try await reader.tokenctl("get", "work", "--scope", "api")
                #expect(lacking.status == 2, "\(lacking)")
                #expect(lacking.standardError.contains("at a host with role = \"keeper\""), "\(lacking)")
                let got = try await keeper.tokenctl("get", "work", "--scope", "api")
                #expect(got.status == 0, "\(got)")
                let given = try await reader.tokenctl("get", "work", "--scope", "api")
                #expect(given.line == got.line, "\(given)")
                #expect(scene.refreshes == 1)
            }
        }

        @Test func `a refresh token that comes with nothing else is the fleet's all the same`() async throws {
            try await FleetScene.whileRunning { scene in
                try await scene.logIn(at: scene.keepers[0])
                _ = try #require(try await scene.commonToken())
                scene.issuer.forgetRequests()
                scene.issuer.queue(Disturbance(reply: .json(["refresh_token": "RT-next"])))
                let next = IssuerResponse.json([
                    "access_token": "AT-next", "expires_in": 600, "token_type": "Bearer",
                ])
                scene.issuer.queue(Disturbance(reply: next), times: 10)
                let spoiled = try await scene.keepers[0].tokenctl("refresh", "work")
                #expect(spoiled.status == 5, "\(spoiled)")
                // Whichever host comes next: it has what the answer brought.
                _ = try await scene.keepers[1].tokenctl("refresh", "work")
                let isCommon = try await Polling.until {
                    try await scene.commonToken() == "AT-next"
                }
                #expect(isCommon)
                let sent = scene.issuer.requests(to: "/token").map { $0.form["refresh_token"] }
                #expect(sent.count > 1 && sent.dropFirst().allSatisfy { $0 == "RT-next" }, "\(sent)")
            }
        }

        @Test(.holds("264")) func `with etcd away the token is served to its end, and nothing is sent`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                try await scene.etcd("term", "n1")
                #expect(try await scene.token(of: scene.keepers[0]) == token)
                #expect(try await scene.keepers[0].tokenctl("refresh", "work").status == 5)
                #expect(scene.refreshes == 0)
                let status = try await scene.keepers[0].tokenctl("fleet", "status")
                #expect(status.status == 5)
                #expect(status.standardError.contains("etcd"))
                try await scene.etcd("up", "n1")
                let isBack = try await Polling.until {
                    try await scene.keepers[0].tokenctl("refresh", "work").status == 0
                }
                #expect(isBack)
                #expect(try await scene.commonToken(besides: token) != nil)
            }
        }

        @Test func `a login that etcd does not have yet says so, and is everybody's when etcd is back`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                let host = scene.keepers[0]
                #expect(try await host.tokenctl("get", "work").status == 4)
                try await scene.etcd("term", "n1")
                try await scene.logIn(at: host)
                let status = try await host.tokenctl("status", "work").standardOutput
                #expect(status.contains("the other hosts do not have this login yet"), "\(status)")
                try await scene.etcd("up", "n1")
                let token = try #require(try await scene.commonToken())
                #expect(try await scene.token(of: host) == token)
                let after = try await host.tokenctl("status", "work").standardOutput
                #expect(!after.contains("do not have this login"), "\(after)")
            }
        }

        @Test(.holds("264")) func `an emptied etcd is filled again by any keeper`() async throws {
            try await FleetScene.whileRunning { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                try await scene.etcd("wipe")
                let isRepaired = try await Polling.until {
                    try await scene.record(at: scene.keepers[1])?["state"]?.string == "live"
                }
                #expect(isRepaired)
                #expect(try await scene.token(of: scene.keepers[1]) == token)
            }
        }

        @Test(.holds("265"))
        func `what does not open in etcd is not taken for nothing, and repair removes it`() async throws {
            try await FleetScene.whileRunning { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                let keys = try await scene.etcd("ctl", "get", "--prefix", "/tokenagent/", "--keys-only")
                let record = try #require(keys.split(separator: "\n").first { $0.hasSuffix("/rt") })
                try await scene.etcd("ctl", "put", String(record), "garbage")
                let isNoticed = try await Polling.until {
                    try await scene.record(at: scene.keepers[0])?["message"] != nil
                }
                #expect(isNoticed)
                let shown = try #require(try await scene.record(at: scene.keepers[0]))
                #expect(shown["state"] == "unreadable" && shown["refreshed_at"] == nil, "\(shown)")
                #expect(shown["remedy"]?.string?.contains("tokenctl fleet repair work") == true, "\(shown)")
                #expect(try await scene.token(of: scene.keepers[0]) == token)
                #expect(try await scene.keepers[0].tokenctl("fleet", "repair", "work").status == 0)
                let isRepaired = try await Polling.until {
                    try await scene.record(at: scene.keepers[1])?["state"]?.string == "live"
                }
                #expect(isRepaired)
                // Whether the token was sent before it was lost, nobody knows now: it is not sent at once.
                #expect(try await scene.keepers[0].tokenctl("refresh", "work").status == 5)
                #expect(try await scene.commonToken() == token)
            }
        }

        @Test(.holds("269"))
        func `a host whose table names another client does not use the record, and says so`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                let other = scene.keepers[1]
                let text = try #require(File.text(other.configurationPath))
                try await other.end()
                try other.configure(text.split(separator: "demo-public").joined(separator: "demo-other"))
                try await other.start()
                try await scene.logIn(at: scene.keepers[0])
                let isNoticed = try await Polling.until {
                    try await scene.record(at: other)?["message"]?.string?.bytewise.contains("client_id")
                        == true
                }
                #expect(isNoticed)
                #expect(try await other.tokenctl("get", "work").status == 4)
            }
        }

        @Test(.holds("267")) func `a new key is used from a restart on, and nothing is lost`() async throws {
            try await FleetScene.whileRunning { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                let renewed = try await scene.keepers[0].tokenctl(
                    "fleet",
                    "rekey",
                    "--key-file",
                    scene.work.path("key")
                )
                #expect(renewed.status == 0, "\(renewed.standardError)")
                for host in scene.keepers {
                    try await host.end()
                    try await host.start()
                }
                #expect(try await scene.commonToken() == token)
                #expect(try await scene.keepers[1].tokenctl("refresh", "work").status == 0)
                #expect(try await scene.commonToken(besides: token) != nil)
                #expect(scene.refreshes == 1)
            }
        }

        @Test(.holds("265")) func `no name and no token is in etcd's files in clear`() async throws {
            try await FleetScene.whileRunning { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                #expect(try await scene.keepers[0].tokenctl("refresh", "work").status == 0)
                let second = try #require(try await scene.commonToken(besides: token))
                // The words of a file name may hold anything; the values are searched.
                let found = try await scene.keepers[0].shell(
                    "grep -rlaF -e '\(token)' -e '\(second)' -e keeper0/ -e '/work/' '\(scene.work.path)' | grep -v key"
                )
                #expect(found.standardOutput.isEmpty, "\(found.standardOutput)")
            }
        }
    }
}
