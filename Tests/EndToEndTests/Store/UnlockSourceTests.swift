// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Unlock methods that need no user, and their failures.
    @Suite struct UnlockSourceTests {
        private static let key = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"

        /// Returns a stopped, logged-in scene whose store has `slot` as its only unlock method.
        private func scene(
            _ slot: String,
            extraEnvironment: [String: String] = [:]
        ) async throws -> Scene {
            let scene = try await Scene()
            try await scene.agent.start(extraEnvironment: extraEnvironment)
            let made = try await scene.agent.changeVault("POST", "init", slot)
            try #require(made.status == 200, "\(made.text)")
            try await scene.logIn()
            try #require(try await scene.agent.end() == 0)
            return scene
        }

        private func isLocked(_ scene: Scene) async throws -> Bool {
            try await scene.agent.socket.request("GET", "/v1").json?["locked"] == true
        }

        @Test(
            .holds("51"),
            arguments: ["exit 3", "head -c 1048576 /dev/zero", "true", "echo wrong; echo key"]
        )
        func `a command that fails leaves the agent locked, and says why`(failure: String) async throws {
            let scene = try await Scene()
            try scene.agent.home.write("#!/bin/sh\necho \(Self.key)\n", to: "unlock", mode: 0o700)
            try scene.agent.configure(unlockCommand: [scene.agent.home.path("unlock")])
            try await scene.agent.start()
            let body = #"{"type":"command","command":["\#(scene.agent.home.path("unlock"))"]}"#
            let made = try await scene.agent.changeVault("POST", "init", body)
            try #require(made.status == 200, "\(made.text)")
            try await scene.logIn()
            let token = try await scene.token()
            try await scene.agent.kill()
            try scene.agent.home.write("#!/bin/sh\n\(failure)\n", to: "unlock", mode: 0o700)
            try await scene.agent.start()
            #expect(try await isLocked(scene))
            let log = scene.agent.log
            #expect(log.contains("locked (run: tokenctl unlock)"), "\(log)")
            #expect(!log.contains("failed("), "\(log)")
            #expect(try await scene.agent.tokenctl("get", "work").status == 6)
            let refusal = try await scene.agent.tokenctl("unlock")
            #expect(refusal.status != 0 && refusal.standardError.contains(scene.agent.home.path("unlock")))
            #expect(!refusal.standardError.contains("passphrase"), "\(refusal)")
            // Repaired, it opens the store without a restart.
            try scene.agent.home.write("#!/bin/sh\necho \(Self.key)\n", to: "unlock", mode: 0o700)
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            #expect(try await scene.token() == token)
        }

        @Test func `where a passphrase is left, unlock says why the command failed before it asks for it`()
            async throws
        {
            let scene = try await Scene()
            let command = scene.agent.home.path("unlock")
            try scene.agent.home.write("#!/bin/sh\necho \(Self.key)\n", to: "unlock", mode: 0o700)
            try scene.agent.configure(unlockCommand: [command])
            try await scene.agent.start()
            for (method, path, slot) in [
                ("POST", "slots", #"{"type":"command","command":["\#(command)"]}"#),
                ("POST", "slots", #"{"type":"passphrase","passphrase":"correct horse"}"#),
                ("DELETE", "slots/0", "{}"),
            ] {
                let made = try await scene.agent.changeVault(method, path, slot)
                try #require(made.status == 200, "\(made.text)")
            }
            try await scene.agent.end()
            try scene.agent.home.write("#!/bin/sh\nexit 3\n", to: "unlock", mode: 0o700)
            try await scene.agent.start()
            let refusal = try await scene.agent.tokenctl("unlock")
            #expect(refusal.standardError.contains("\(command) delivered no key"), "\(refusal)")
            #expect(refusal.standardError.contains("--passphrase-stdin"), "\(refusal)")
            let unlocked = try await scene.agent.tokenctl(
                ["unlock", "--passphrase-stdin"],
                input: "correct horse\n"
            )
            #expect(unlocked.status == 0, "\(unlocked)")
        }

        @Test(.holds("51"), .full) func `a command that hangs is given up after half a minute`() async throws
        {
            let scene = try await Scene()
            try scene.agent.home.write("#!/bin/sh\necho \(Self.key)\n", to: "unlock", mode: 0o700)
            try scene.agent.configure(unlockCommand: [scene.agent.home.path("unlock")])
            try await scene.agent.start()
            let body = #"{"type":"command","command":["\#(scene.agent.home.path("unlock"))"]}"#
            try #require(
                try await scene.agent.changeVault("POST", "init", body).status == 200
            )
            try await scene.agent.end()
            try scene.agent.home.write("#!/bin/sh\nexec tail -f /dev/null\n", to: "unlock", mode: 0o700)
            let start = ContinuousClock.now
            let agent = try Program(
                [BuiltPrograms.agent, "--foreground"],
                environment: scene.agent.environment
            )
            let answers = try await Polling.until(within: .seconds(120)) {
                (try? await scene.agent.socket.request("GET", "/v1", within: .seconds(5)))?.status == 200
            }
            // The agent responds long before, but requests that need the store wait.
            #expect(answers && ContinuousClock.now - start < .seconds(29))
            let refusal = try await scene.agent.socket.request("GET", "/v1/sessions", within: .seconds(90))
            let duration = ContinuousClock.now - start
            #expect(refusal.status == 423 && duration >= .seconds(29))
            #expect(try await isLocked(scene))
            Attachment.record("\(duration / .seconds(1)) s", named: "figure")
            agent.signal(.terminate)
            #expect(try await agent.finish().status == 0)
        }

        @Test(.holds("51")) func `a credential of the service manager opens the store`() async throws {
            let credentials = try TemporaryDirectory()
            try credentials.write(Self.key, to: "tokenagent", mode: 0o400)
            let given = ["CREDENTIALS_DIRECTORY": credentials.path]
            let scene = try await scene(#"{"type":"systemd-cred"}"#, extraEnvironment: given)
            try await scene.agent.start()
            #expect(try await isLocked(scene))
            #expect(scene.agent.log.contains("CREDENTIALS_DIRECTORY"))
            try await scene.agent.end()
            try await scene.agent.start(extraEnvironment: given)
            #expect(try await isLocked(scene) == false)
            #expect(try await scene.token().isEmpty == false)
            try await scene.agent.end()
            try credentials.write(String(Self.key.reversed()), to: "other", mode: 0o400)
            #expect(rename(credentials.path("other"), credentials.path("tokenagent")))
            try await scene.agent.start(extraEnvironment: given)
            #expect(try await isLocked(scene))
            try await scene.agent.end()
            // The first 8192 bytes of it may be the key, but it is another secret.
            try credentials.write(Self.key + String(repeating: "x", count: 8192), to: "other", mode: 0o400)
            #expect(rename(credentials.path("other"), credentials.path("tokenagent")))
            try await scene.agent.start(extraEnvironment: given)
            #expect(try await isLocked(scene))
            #expect(scene.agent.log.contains("is longer than 8192 bytes"))
        }

        @Test(arguments: [
            (["systemd-cred", "--credential", "foo"], "the credential foo delivered no key", "systemd"),
            (
                ["command", "--", "false"], "the command false delivered no key",
                "to a command that prints a key"
            ),
        ])
        func `a source that gives nothing is named as it is called, with what helps`(
            source: [String],
            beginning: String,
            remedy: String
        ) async throws {
            let scene = try await Scene()
            try scene.agent.configure(unlockCommand: ["false"])
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl(["vault", "slots", "add", "--type"] + source)
            #expect(result.status == 1, "\(result)")
            #expect(result.standardError.contains(beginning), "\(result.standardError)")
            #expect(result.standardError.contains(remedy) && !result.standardError.contains("free the disk"))
        }

        @Test func `a slot runs no command but the one of the configuration`() async throws {
            let scene = try await Scene()
            try scene.agent.home.write("#!/bin/sh\necho \(Self.key)\n", to: "unlock", mode: 0o700)
            let command = [scene.agent.home.path("unlock")]
            let body = #"{"type":"command","command":["\#(command[0])"]}"#
            try await scene.agent.start()
            let refused = try await scene.agent.changeVault("POST", "slots", body)
            #expect(refused.status == 500 && refused.text.contains("unlock_command"), "\(refused.text)")
            // A reload is enough: the process that runs commands reads the configuration itself.
            let without = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(unlockCommand: command)
            try #require(try await scene.agent.socket.request("POST", "/v1/reload").status == 200)
            let made = try await scene.agent.changeVault("POST", "init", body)
            try #require(made.status == 200, "\(made.text)")
            try await scene.logIn()
            try await scene.agent.end()
            try scene.agent.configure(without)
            try await scene.agent.start()
            #expect(try await isLocked(scene))
            #expect(scene.agent.log.contains("unlock_command"), "\(scene.agent.log)")
            try await scene.agent.end()
            try scene.agent.configure(unlockCommand: command)
            try await scene.agent.start()
            #expect(try await scene.token().isEmpty == false)
        }

        private func rename(_ old: String, _ new: String) -> Bool {
            Program.succeeds("mv -f '\(old)' '\(new)'")
        }
    }
}
