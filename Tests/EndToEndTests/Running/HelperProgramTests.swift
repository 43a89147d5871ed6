// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Programs of the configuration that do not work for a while, and what becomes of what they say.
    @Suite struct HelperProgramTests {
        private static let line = "gpg: decryption failed: No secret key"

        /// Prints the client's secret once `ready` is there; until then it fails like gpg before a login.
        private static func secretCommand(_ ready: String) -> String {
            "test -e \(ready) || { printf '\\\\033[31m\(line)\\\\033[0m\\\\nmore\\\\n' >&2; exit 2; }; "
                + "echo demo-secret-7f3a"
        }

        /// Case helper-fails-once; the waits between the tries are those of `HelperFailureTests`.
        @Test(.holds("213"))
        func `a secret command that fails once is told everywhere, and the session goes on afterwards`()
            async throws
        {
            let directory = try TemporaryDirectory()
            let ready = try directory.write("", to: "ready")
            let command = "client_secret_command = [\"sh\", \"-c\", \"\(Self.secretCommand(ready))\"]"
            let scene = try await Scene(session: command, client: "demo-confidential")
            try await scene.agent.start()
            try await scene.logIn()
            try await scene.agent.end()
            File.remove(ready)
            try await scene.agent.start()
            let refresh = try await scene.agent.tokenctl("refresh", "work")
            #expect(refresh.status == 5, "\(refresh)")
            #expect(refresh.standardError.contains(": exit status 2: \(Self.line)"), "\(refresh)")
            let status = try await scene.agent.tokenctl("status", "work")
            #expect(status.standardOutput.contains(Self.line), "\(status)")
            let doctor = try await scene.agent.tokenctl("doctor")
            #expect((doctor.standardOutput + doctor.standardError).contains(Self.line), "\(doctor)")
            // What a program says is collected until it has ended.
            #expect(try await Polling.until { scene.agent.log.contains(Self.line) }, "\(scene.agent.log)")
            for text in [
                refresh.standardError, status.standardOutput, doctor.standardOutput, scene.agent.log,
            ] {
                #expect(!text.contains("\u{1B}") && !text.contains("demo-secret"))
            }
            let state = try await scene.agent.status("work")
            #expect(state["state"] == "retrying", "\(state)")
            try directory.write("", to: "ready")
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(try await scene.agent.status("work")["state"] == "ready")
        }

        @Test(.holds("35")) func `what a hook writes to its standard error is one clean line of the log`()
            async throws
        {
            let hook = "printf '\\\\033[2J\\\\033]0;evil\\\\007no notifier\\\\nsecond\\\\n' >&2; exit 3"
            let scene = try await Scene.loggedIn(
                more: "[hooks]\nevent = [\"sh\", \"-c\", \"\(hook)\"]"
            )
            #expect(try await Polling.until { scene.agent.log.contains("no notifier") })
            let log = scene.agent.log
            #expect(log.contains("hook failed") && !log.contains("second"))
            #expect(!log.utf8.contains(0x1B) && !log.utf8.contains(0x07))
        }

        @Test func `an agent of low priority writes nothing about its threads`() async throws {
            let scene = try await Scene()
            try await scene.agent.start(wrapper: ["nice", "-n", "5"])
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(!scene.agent.log.contains("thread priority"), "\(scene.agent.log)")
        }
    }
}
