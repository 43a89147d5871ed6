// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct VaultTests {
        /// A scene whose store opens with a passphrase only.
        private func scene() async throws -> Scene {
            let scene = try await Scene()
            try await scene.agent.start()
            let body = #"{"type":"passphrase","passphrase":"correct horse"}"#
            let reply = try await scene.agent.changeVault("POST", "init", body)
            try #require(reply.status == 200, "\(reply.text)")
            try await scene.logIn()
            return scene
        }

        private func unlock(_ scene: Scene, _ passphrase: String) async throws -> ConnectedAgentSocket.Reply {
            try await scene.agent.socket.request(
                "POST",
                "/v1/unlock",
                body: #"{"passphrase":"\#(passphrase)"}"#
            )
        }

        @Test func `a passphrase keeps the store closed after a restart`() async throws {
            let scene = try await scene()
            let token = try await scene.token()
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("get", "work").status == 6)
            let wrong = try await unlock(scene, "wrong")
            #expect(wrong.status == 403, "\(wrong.text)")
            #expect(try await scene.agent.tokenctl("get", "work").status == 6)
            #expect(try await unlock(scene, "correct horse").status == 200)
            #expect(try await scene.token() == token)
        }

        @Test func `a changed passphrase replaces the old one`() async throws {
            let scene = try await scene()
            let body = #"{"old":"correct horse","new":"battery staple"}"#
            #expect(
                try await scene.agent.socket.request("POST", "/v1/vault/passwd", body: body).status == 200
            )
            _ = try await scene.agent.tokenctl("lock")
            #expect(try await unlock(scene, "correct horse").status == 403)
            #expect(try await unlock(scene, "battery staple").status == 200)
            #expect(try await scene.token().isEmpty == false)
        }

        @Test func `a new master key keeps every session`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            #expect(try await scene.agent.tokenctl("vault", "rekey").status == 0)
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.token() == token)
        }

        @Test func `SIGUSR1 locks`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            scene.agent.agent?.signal(.user1)
            #expect(try await Polling.until { try await scene.agent.tokenctl("get", "work").status == 6 })
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            #expect(try await scene.token() == token)
        }

        @Test func `slots are listed, and the last one stays`() async throws {
            let scene = try await Scene.loggedIn()
            let vault = try #require(try await scene.agent.socket.request("GET", "/v1/vault").json)
            #expect(vault["state"] == "unlocked")
            let slots = try #require(vault["slots"]?.array)
            #expect(slots.count == 1)
            let index = try #require(slots.first?.object?["index"]?.integer)
            let reply = try await scene.agent.changeVault("DELETE", "slots/\(index)")
            #expect(reply.status != 200)
            #expect(try await scene.token().isEmpty == false)
        }

        @Test func `a key file of the wrong content is one clear sentence and costs nothing`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            try await scene.agent.kill()
            let path = scene.agent.statePath + "/keyfile"
            #expect(try await scene.agent.shell("cp '\(path)' \"$HOME/key\"").status == 0)
            try File.write(String(repeating: "x", count: 64), to: path)
            let started = try Program(
                [BuiltPrograms.agent, "--foreground"],
                environment: scene.agent.environment
            )
            let isLocked = try await Polling.until {
                if started.exitStatus != nil { return true }
                return (try? await scene.agent.socket.request("GET", "/v1"))?.json?["locked"] == true
            }
            #expect(isLocked)
            // A sentence, not how the code writes it.
            let log = started.standardError
            #expect(log.contains("locked (run: tokenctl unlock)"), "\(log)")
            #expect(!log.contains("(\"") && !log.contains("(.") && !log.contains("failed("), "\(log)")
            started.signal(.terminate)
            try await started.finish()
            #expect(try await scene.agent.shell("cat \"$HOME/key\" >'\(path)'").status == 0)
            try await scene.agent.start()
            #expect(try await scene.token() == token)
        }
    }
}
