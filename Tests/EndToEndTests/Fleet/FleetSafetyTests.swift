// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// What one host does, or finds, is no harm to others.
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

        @Test func `a member that is away keeps nobody from the first token`() async throws {
            try await FleetScene.whileRunning(keepers: 2) { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                let host = scene.keepers[1]
                let text = try #require(File.text(host.configurationPath))
                // Which of the members a host begins with is chance.
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
    }
}
