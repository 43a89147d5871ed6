// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// The output of `tokenctl fleet status`.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetStatusTests {
        @Test func `the status shows a refusal that nobody has confirmed yet`() async throws {
            try await FleetScene.whileRunning { scene in
                try await scene.logIn(at: scene.keepers[0])
                _ = try #require(try await scene.commonToken())
                #expect(try await scene.record(at: scene.keepers[1])?["attempt_by"] == nil)
                scene.issuer.queue(Disturbance(reply: .failure("invalid_grant")))
                let refused = try await scene.keepers[0].tokenctl("refresh", "work")
                #expect(refused.status == 5, "\(refused)")
                // It is confirmed after half a minute at the earliest.
                let record = try await Polling.value {
                    let record = try await scene.record(at: scene.keepers[1])
                    return record?["attempt_refused"] == .bool(true) ? record : nil
                }
                #expect(record?["attempt_by"]?.string == "keeper0")
                #expect(record?["state"]?.string == "live")
                #expect(record?["refreshed_at"] != nil)
                let table = try await scene.keepers[1].tokenctl("fleet", "status")
                #expect(table.standardOutput.bytewise.contains("keeper0 (refused)"), "\(table)")
            }
        }

        @Test func `a token of other scopes counts as the latest refresh`() async throws {
            try await FleetScene.whileRunning { scene in
                let host = scene.keepers[0]
                try await scene.logIn(at: host)
                let first = try #require(try await refreshTime(in: scene, at: host))
                // Times are whole seconds, and the two tokens replace each other.
                let hasMoved = try await Polling.until {
                    for scope in ["openid", "api"] {
                        let got = try await host.tokenctl("get", "work", "--scope", scope)
                        try #require(got.status == 0, "\(got)")
                    }
                    return try await refreshTime(in: scene, at: host) ?? first > first
                }
                #expect(hasMoved)
            }
        }

        @Test(.holds("269"))
        func `the doctor names a session that the fleet has and this host does not share`() async throws {
            try await FleetScene.whileRunning { scene in
                try await scene.logIn(at: scene.keepers[0])
                _ = try #require(try await scene.commonToken())
                let host = scene.keepers[1]
                let before = try await host.tokenctl("doctor").standardOutput
                #expect(!before.contains("this host does not use"), "\(before)")
                let text = try #require(File.text(host.configurationPath))
                try host.configure(text.replacing("fleet = true\n", with: ""))
                #expect(try await host.tokenctl("reload").status == 0)
                let found = try await host.tokenctl("doctor").standardOutput
                #expect(found.contains("work: this host does not use the login"), "\(found)")
                #expect(found.contains("set: fleet = true in [session.work]"), "\(found)")
                let refused = try await host.tokenctl("fleet", "join", "work")
                let remedy = PrintedRemedy(refused, holding: "fleet = true in [session.work]")
                try host.configure(text)
                #expect(try await host.shell(try #require(remedy?.command, "\(refused)")).status == 0)
                #expect(try await host.tokenctl("fleet", "join", "work").status == 0)
                let after = try await host.tokenctl("doctor").standardOutput
                #expect(!after.contains("this host does not use"), "\(after)")
                #expect(try await scene.commonToken() != nil)
            }
        }

        @Test(.holds("269")) func `the doctor finds out that a state directory was copied`() async throws {
            try await FleetScene.whileRunning { scene in
                let (host, copy) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: host)
                _ = try #require(try await scene.commonToken())
                for agent in scene.keepers { try await agent.end() }
                let copied = try await copy.shell(
                    "rm -r \"\(copy.statePath)\" && cp -a \"\(host.statePath)\" \"\(copy.statePath)\""
                )
                try #require(copied.status == 0, "\(copied)")
                for agent in scene.keepers { try await agent.start() }
                // Each host reads etcd by itself, and the times are whole seconds.
                let isFound = try await Polling.until(within: .seconds(60)) {
                    for agent in scene.keepers {
                        let found = try await agent.tokenctl("doctor").standardOutput
                        if found.contains("its state directory is a copy") { return true }
                    }
                    return false
                }
                #expect(isFound, "\(host.log) \(copy.log)")
                try await copy.end()
                try #require(
                    try await copy.shell("mv \"\(copy.statePath)\" \"\(copy.statePath).old\"").status == 0
                )
                try await copy.start()
                #expect(try await scene.commonToken() != nil, "\(copy.log)")
                // The last entry of the other host is found once more.
                _ = try await host.tokenctl("doctor")
                let found = try await host.tokenctl("doctor").standardOutput
                #expect(!found.contains("its state directory is a copy"), "\(found)")
            }
        }

        private func refreshTime(in scene: FleetScene, at host: AgentUnderTest) async throws -> Int? {
            guard case .number(let time)? = try await scene.record(at: host)?["refreshed_at"] else {
                return nil
            }
            return Int(time)
        }
    }
}
