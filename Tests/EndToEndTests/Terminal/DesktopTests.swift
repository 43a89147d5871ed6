// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// The notice at a desktop that a login is needed.
    @Suite struct DesktopTests {
        /// Ends the session of a scene whose agent was started at a desktop, as far as a program can tell, and answers
        /// what was shown.
        private func shown(more: String = "", display: String?) async throws -> [String] {
            let directory = try TemporaryDirectory()
            let file = directory.path("shown")
            let script = "#!/bin/sh\nfor word; do echo \"$word\"; done >>'\(file)'\n"
            try directory.write(script, to: "notify-send", mode: 0o700)
            let hook =
                "event = [\"sh\", \"-c\", 'echo \"$TOKENAGENT_EVENT\" >>\"$0\"', \"\(directory.path("events"))\"]"
            let scene = try await Scene(more: "[hooks]\n\(hook)\n\(more)")
            var environment = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/none"]
            environment["PATH"] = directory.path + ":" + (scene.agent.environment["PATH"] ?? "")
            environment["DISPLAY"] = display
            try await scene.agent.start(extraEnvironment: environment)
            try await scene.logIn()
            scene.issuer.queue(.failure("access_denied", status: 400))
            _ = try await scene.agent.tokenctl("refresh", "work")
            // Hooks run one after the other: the next event's tells that the notice before it is over.
            #expect(try await scene.agent.tokenctl("lock").status == 0)
            #expect(
                try await Polling.until { File.text(directory.path("events"))?.contains("locked\n") == true }
            )
            return (File.text(file) ?? "").split(separator: "\n").map(String.init)
        }

        @Test func `a person at a desktop sees that a login is needed`() async throws {
            #expect(
                try await shown(display: ":0") == [
                    "--app-name=tokenagent", "--", "work needs a login.", "tokenctl login work",
                ]
            )
        }

        @Test func `it can be turned off, and nothing is tried without a desktop`() async throws {
            #expect(try await shown(more: "desktop = false", display: ":0").isEmpty)
            #expect(try await shown(display: nil).isEmpty)
        }
    }
}
