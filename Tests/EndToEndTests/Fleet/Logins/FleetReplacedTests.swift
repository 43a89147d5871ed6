// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Logins that another login has replaced, and their revocation at the server.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetReplacedTests {
        @Test(.holds("267"))
        func `where a revocation ends nothing else, logins on any hosts leave one alive`()
            async throws
        {
            try await FleetScene.whileRunning(keepers: 2, session: "revokes = \"token\"\n") { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                // The second is at the host of the first, the third at another, and then two come at once.
                for host in [one, one, other] {
                    try await scene.logIn(at: host)
                    _ = try #require(try await scene.commonToken())
                }
                async let left = scene.tryLogIn(at: one)
                async let right = scene.tryLogIn(at: other)
                let statuses = try await [left.status, right.status].sorted()
                #expect([[0, 0], [0, 8]].contains(statuses), "\(statuses)")
                #expect(try await scene.commonToken() != nil)
                let isAlone = try await Polling.until { scene.issuer.livingRefreshTokens.count == 1 }
                #expect(isAlone, "\(scene.issuer.livingRefreshTokens.count) \(one.log) \(other.log)")
                for host in scene.keepers { #expect(try await host.tokenctl("refresh", "work").status == 0) }
                let out = try await other.tokenctl("logout", "work", "--all-hosts")
                #expect(out.status == 0 && out.standardOutput.isEmpty, "\(out)")
                #expect(scene.issuer.livingRefreshTokens.isEmpty)
            }
        }

        @Test func `where nobody knows what ends with it nothing is revoked, and the logout says so`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                for host in [one, other] {
                    try await scene.logIn(at: host)
                    _ = try #require(try await scene.commonToken())
                }
                #expect(scene.issuer.requests(to: "/revoke").isEmpty)
                #expect(scene.issuer.livingRefreshTokens.count == 2)
                let out = try await other.tokenctl("logout", "work", "--all-hosts")
                #expect(out.status == 0, "\(out)")
                #expect(out.standardOutput.contains("may still be valid at the server"), "\(out)")
                #expect(out.standardOutput.contains("revokes in tokenagent.conf(5)"), "\(out)")
            }
        }
    }
}
