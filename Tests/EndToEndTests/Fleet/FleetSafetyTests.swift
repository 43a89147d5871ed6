// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Actions and findings of one host that must not harm other hosts, and an etcd that is full.
    @Suite(.enabled(if: FleetScene.etcd.isAvailable)) struct FleetSafetyTests {
        @Test func `who cannot tell what others live on deletes nothing of it`() async throws {
            try await FleetScene.whileRunning(keepers: 2, readers: 1) { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                for command in [["repair"], ["repair", "work"], ["remove", "keeper1"]] {
                    let refused = try await scene.readers[0].tokenctl(["fleet"] + command)
                    #expect(refused.status == 2, "\(refused)")
                    #expect(refused.standardError.contains("at a host with role = \"keeper\""), "\(refused)")
                }
                let odd = scene.keepers[1]
                let text = try #require(File.text(odd.configurationPath))
                try odd.configure(text.replacing("client_id = \"", with: "client_id = \"not-"))
                #expect(try await odd.tokenctl("reload").status == 0)
                #expect(try await odd.tokenctl("fleet", "repair").status == 0)
                #expect(try await scene.commonToken(of: [scene.keepers[0], scene.readers[0]]) == token)
                #expect(try await scene.record(at: scene.keepers[0])?["state"]?.string == "live")
            }
        }

        @Test func `a host does not remove itself, nor one without a name`() async throws {
            try await FleetScene.whileRunning { scene in
                try await scene.logIn(at: scene.keepers[0])
                for (name, status, message) in [
                    ("keeper0", 2, "keeper0 is this host, which cannot remove itself"),
                    ("", 2, "empty host name"),
                    ("nobody", 7, "no host named \"nobody\" in the fleet"),
                ] as [(String, Int32, String)] {
                    let refused = try await scene.keepers[0].tokenctl("fleet", "remove", name)
                    #expect(refused.status == status, "\(refused)")
                    #expect(refused.standardError.contains(message), "\(refused)")
                }
                #expect(scene.refreshes == 0)
            }
        }

        @Test func `a member that is away keeps nobody from the first token`() async throws {
            try await FleetScene.whileRunning(keepers: 2) { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                let host = scene.keepers[1]
                let text = try #require(File.text(host.configurationPath))
                // A host selects its first member at random.
                let away = (1...7).map { "\"http://127.0.0.1:\($0)\"" }.joined(separator: ", ")
                try await host.end()
                try host.configure(text.replacing("endpoints = [", with: "endpoints = [\(away), "))
                for _ in 0..<3 {
                    try await host.start()
                    let result = try await host.tokenctl("get", "work")
                    #expect(result.line == token, "\(result)")
                    try await host.end()
                }
                try await host.start()
            }
        }

        /// Makes the only member report that its database has reached the quota.
        private func fill(_ scene: FleetScene) async throws {
            let members = try await scene.status(at: scene.keepers[0])["etcd"]?.array
            let endpoint = try #require(members?.first?.object?["endpoint"]?.string)
            let order = #"{"action":"ACTIVATE","memberID":"1","alarm":"NOSPACE"}"#
            let script = "curl -sSf -d '\(order)' '\(endpoint)/v3/maintenance/alarm'"
            let result = try await scene.keepers[0].shell(script)
            try #require(result.status == 0, "\(result)")
        }

        @Test func `an etcd without room is named with what helps, and is used again without a restart`()
            async throws
        {
            try await FleetScene.whileRunning { scene in
                let (host, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: host)
                let first = try #require(try await scene.commonToken())
                try await fill(scene)
                let refused = try await other.tokenctl("refresh", "work")
                #expect(refused.status == 5, "\(refused)")
                #expect(refused.standardError.contains("etcd is out of space"), "\(refused)")
                #expect(refused.standardError.contains("alarm disarm"), "\(refused)")
                #expect(scene.refreshes == 0)
                for command in [["fleet", "status"], ["doctor"]] {
                    let found = try await other.tokenctl(command).standardOutput
                    #expect(found.contains("etcd is out of space and rejects changes"), "\(found)")
                    #expect(found.contains("etcdctl compact, defrag and alarm disarm"), "\(found)")
                }
                #expect(try await scene.commonToken() == first)
                try await scene.etcd("ctl", "alarm", "disarm")
                // The database becomes full between the request and the response.
                let (token, refresh) = try await scene.holdRefresh(at: host)
                try await fill(scene)
                scene.issuer.release()
                _ = await refresh.result
                let isServed = try await Polling.until {
                    let served = try await scene.token(of: host)
                    return served != nil && served != token
                }
                #expect(isServed, "\(host.log)")
                try await scene.etcd("ctl", "alarm", "disarm")
                #expect(try await scene.commonToken(besides: token) != nil, "\(host.log)")
                #expect(scene.refreshes == 1)
            }
        }
    }
}
