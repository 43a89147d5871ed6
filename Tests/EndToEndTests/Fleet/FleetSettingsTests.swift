// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// A host that has just come, and one whose table names another client.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetSettingsTests {
        @Test func `the first that asks at a new host gets the token`() async throws {
            try await FleetScene.whileRunning(keepers: 2, readers: 1) { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                for host in [scene.keepers[1], scene.readers[0]] {
                    try await host.end()
                    File.removeTree(host.statePath)
                    try await host.start()
                    let first = try await host.tokenctl("get", "work")
                    #expect(first.line == token, "\(first.status): \(first.standardError)")
                }
            }
        }

        @Test func `a host that cannot ask the fleet does not tell anybody to log in`() async throws {
            try await FleetScene.whileRunning(keepers: 2) { scene in
                try await scene.logIn(at: scene.keepers[0])
                _ = try #require(try await scene.commonToken())
                let host = scene.keepers[1]
                try await host.end()
                File.removeTree(host.statePath)
                try await scene.etcd("term", "n1")
                try await host.start()
                let answer = try await host.tokenctl("get", "work")
                #expect(answer.status == 5)
                let said = answer.standardError
                #expect(said.contains("cannot reach etcd") && !said.contains("login"), "\(said)")
                let status = try await host.tokenctl("status", "work").standardOutput
                #expect(status.contains("cannot reach etcd") && !status.contains("login"), "\(status)")
                #expect(try await host.tokenctl("status", "work", "--check").status == 5)
                try await scene.etcd("up", "n1")
                #expect(try await scene.commonToken() != nil)
            }
        }

        @Test func `a host whose table names another client does not use the fleet's login`() async throws {
            try await FleetScene.whileRunning(keepers: 2) { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                let (good, other) = (scene.keepers[0], scene.keepers[1])
                let refreshes = scene.refreshes
                let right = try #require(File.text(other.configurationPath))
                try other.configure(right.replacing("demo-public", with: "demo-other"))
                try await other.end()
                try await other.start()
                for command in ["get", "refresh"] {
                    let answer = try await other.tokenctl(command, "work")
                    #expect(answer.status == 2, "\(command): \(answer.standardError)")
                    #expect(answer.standardError.contains("client_id"), "\(answer.standardError)")
                }
                #expect(scene.refreshes == refreshes)
                #expect(try await scene.token(of: good) == token)
                // Put right, it goes on with what it had.
                try other.configure(right)
                try await other.end()
                try await other.start()
                #expect(try await scene.commonToken() == token)
            }
        }

        @Test func `when all hosts have another client, a repair makes room for its login`() async throws {
            try await FleetScene.whileRunning(keepers: 2) { scene in
                try await scene.logIn(at: scene.keepers[0])
                let token = try #require(try await scene.commonToken())
                for host in scene.keepers {
                    try await host.end()
                    let former = try #require(File.text(host.configurationPath))
                    try host.configure(former.replacing("demo-public", with: "demo-other"))
                    try await host.start()
                }
                let refused = try await scene.tryLogIn(at: scene.keepers[0])
                #expect(refused.status != 0, "\(refused)")
                #expect(refused.standardError.contains("client_id"), "\(refused)")
                #expect(refused.standardError.contains("tokenctl fleet repair work"), "\(refused)")
                let said = try await scene.record(at: scene.keepers[0])?["message"]?.string
                #expect(said?.contains("client_id") == true, "\(said ?? "")")
                let repaired = try await scene.keepers[0].tokenctl("fleet", "repair", "work")
                #expect(repaired.status == 0, "\(repaired.standardError)")
                try await scene.logIn(at: scene.keepers[0])
                #expect(try await scene.commonToken(besides: token) != nil)
            }
        }
    }
}
