// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// The notice at a desktop that a login is needed.
    @Suite struct DesktopTests {
        /// Ends the session of a scene whose agent was started at a desktop, as far as a program can tell, and answers
        /// what was shown.
        ///
        /// With `narrow`, a session of this name is made from it.
        private func shown(
            more: String = "",
            display: String?,
            narrow: Bool = false,
            logsInAgain: Bool = false
        ) async throws -> [String] {
            let directory = try TemporaryDirectory()
            let file = directory.path("shown")
            // As the real one, it prints the number of the notice.
            let script = "#!/bin/sh\nfor word; do echo \"$word\"; done >>'\(file)'\necho 7\n"
            try directory.write(script, to: "notify-send", mode: 0o700)
            let hook =
                "event = [\"sh\", \"-c\", 'echo \"$TOKENAGENT_EVENT\" >>\"$0\"', \"\(directory.path("events"))\"]"
            let scene = try await Scene(more: "[hooks]\n\(hook)\n\(more)")
            if narrow {
                try scene.agent.configure(
                    (File.text(scene.agent.configurationPath) ?? "") + """

                        [session.narrow]
                        issuer = "\(scene.issuer.issuer)"
                        client_id = "demo-confidential"
                        client_secret = "demo-secret-7f3a"
                        flow = "token_exchange"
                        from = "work"

                        """
                )
            }
            var environment = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/none"]
            environment["PATH"] = directory.path + ":" + (scene.agent.environment["PATH"] ?? "")
            environment["DISPLAY"] = display
            try await scene.agent.start(extraEnvironment: environment)
            try await scene.logIn()
            if narrow { #expect(try await scene.agent.reaches("ready", "narrow")) }
            scene.issuer.queue(.failure("access_denied", status: 400))
            _ = try await scene.agent.tokenctl("refresh", "work")
            if logsInAgain { try await scene.logIn() }
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
                    "--app-name=tokenagent", "--print-id", "--", "work needs a login.", "tokenctl login work",
                ]
            )
        }

        @Test func `the notice goes once the login is there`() async throws {
            let notices = try await shown(display: ":0", logsInAgain: true)
            #expect(
                notices == [
                    "--app-name=tokenagent", "--print-id", "--", "work needs a login.", "tokenctl login work",
                    "--app-name=tokenagent", "--replace-id=7", "--expire-time=3000", "--",
                    "Logged in to work.",
                ]
            )
        }

        @Test func `a login that others are made from is missed once`() async throws {
            #expect(
                try await shown(
                    more: "login_required = [\"notify-send\", \"hook\"]\n",
                    display: ":0",
                    narrow: true
                ) == [
                    "hook", "--app-name=tokenagent", "--print-id", "--", "work needs a login.",
                    "tokenctl login work",
                ]
            )
        }

        @Test func `it can be turned off, and nothing is tried without a desktop`() async throws {
            #expect(try await shown(more: "desktop = false", display: ":0").isEmpty)
            #expect(try await shown(display: nil).isEmpty)
        }
    }
}
