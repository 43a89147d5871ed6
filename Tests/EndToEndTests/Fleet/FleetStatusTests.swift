// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// What `tokenctl fleet status` shows.
    @Suite(.enabled(if: FleetScene.etcd.isAvailable)) struct FleetStatusTests {
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
                // Times are whole seconds, and each of the two takes the other's place.
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

        private func refreshTime(in scene: FleetScene, at host: AgentUnderTest) async throws -> Int? {
            guard case .number(let time)? = try await scene.record(at: host)?["refreshed_at"] else {
                return nil
            }
            return Int(time)
        }
    }
}
