// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    @Suite struct HookTests {
        /// A hook that writes its environment's words for the event to a file.
        private static func recorder(_ file: String) -> String {
            #"["sh", "-c", 'echo "$TOKENAGENT_EVENT $TOKENAGENT_SESSION $TOKENAGENT_REASON" >>"$0"', "\#(file)"]"#
        }

        private func lines(_ file: String) -> [String] {
            (File.text(file) ?? "").split(separator: "\n").map(String.init)
        }

        @Test func `hooks run in the order of the events and are told no token`() async throws {
            let directory = try TemporaryDirectory()
            let events = directory.path("events")
            let environment = directory.path("environment")
            let scene = try await Scene.loggedIn(
                more: """
                    [hooks]
                    event = \(Self.recorder(events))
                    login_required = ["sh", "-c", 'env >"$0"', "\(environment)"]
                    """
            )
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let token = try await scene.token()
            scene.issuer.queue(.failure("access_denied", status: 400))
            _ = try await scene.agent.tokenctl("refresh", "work")
            #expect(try await Polling.until { lines(events).count >= 3 })
            #expect(lines(events).prefix(2) == ["logged_in work ", "refreshed work person"])
            #expect(lines(events).contains { $0.hasPrefix("login_required work ") })
            let told = try #require(File.text(environment))
            #expect(told.contains("TOKENAGENT_EVENT=login_required\n"))
            #expect(!told.contains(token))
        }

        @Test func `the example's hook for events writes what happened to the system's log`() async throws {
            let example = try #require(File.text(BuiltPrograms.checkout + "/packaging/examples/config.toml"))
            let line = try #require(example.split(separator: "\n").first { $0.hasPrefix("#event ") })
            let directory = try TemporaryDirectory()
            let logged = directory.path("logged")
            try directory.write("#!/bin/sh\necho \"$*\" >>'\(logged)'\n", to: "logger", mode: 0o700)
            let scene = try await Scene(more: "[hooks]\n\(line.dropFirst())")
            let path = directory.path + ":" + (scene.agent.environment["PATH"] ?? "")
            try await scene.agent.start(extraEnvironment: ["PATH": path])
            try await scene.logIn()
            #expect(try await Polling.until { lines(logged) == ["-t tokenagent -- logged_in work"] })
        }

        @Test func `a hook that hangs delays nothing`() async throws {
            let scene = try await Scene.loggedIn(more: "[hooks]\nevent = [\"sleep\", \"1000\"]")
            for _ in 0..<3 { #expect(try await scene.agent.tokenctl("refresh", "work").status == 0) }
            #expect(try await scene.token().isEmpty == false)
            #expect(try await scene.agent.end(within: .seconds(10)) == 0)
        }

        @Test(.holds("51")) func `a store that a command opens needs no person at the next start`()
            async throws
        {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let key = scene.agent.home.path("key")
            let made = try await scene.agent.shell("head -c 40 /dev/urandom | base64 >\(key)")
            #expect(made.status == 0)
            try scene.agent.configure(unlockCommand: ["cat", key])
            #expect(try await scene.agent.socket.request("POST", "/v1/reload").status == 200)
            let added = try await scene.agent.tokenctl(
                "vault",
                "slots",
                "add",
                "--type",
                "command",
                "--",
                "cat",
                key
            )
            #expect(added.status == 0, "\(added.standardError)")
            #expect(try await scene.agent.tokenctl("vault", "slots", "remove", "0").status == 0)
            try await scene.agent.end()
            try await scene.agent.start()
            #expect(try await scene.token() == token)
        }
    }
}
