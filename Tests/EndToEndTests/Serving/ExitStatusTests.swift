// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct ExitStatusTests {
        @Test(.holds("127")) func `without an agent the status is 3`() async throws {
            let agent = try AgentUnderTest()
            let result = try await agent.tokenctl("get", "work")
            #expect(result.status == 3)
            #expect(result.complainsInOneLine, "\(result.standardError)")
        }

        @Test func `help needs no agent`() async throws {
            let agent = try AgentUnderTest()
            for command in [["--help"], ["get", "--help"], ["login", "--help"], ["vault", "--help"]] {
                let result = try await agent.tokenctl(command)
                #expect(result.status == 0)
                #expect(result.standardError.isEmpty)
                #expect(result.standardOutput.contains("USAGE") || result.standardOutput.contains("usage"))
            }
        }

        @Test func `help lists every exit status`() async throws {
            let help = try await AgentUnderTest().tokenctl("--help").standardOutput
            let words = help.split { " \n,".contains($0) }.map(String.init)
            for status in 0...9 { #expect(words.contains("\(status)"), "\(status): \(help)") }
        }

        @Test func `the first recipe of the README sends nothing without a login, and fails`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let readme = try #require(File.text("\(BuiltPrograms.checkout)/README.md"))
            let recipes = readme.split(separator: "\n").map(String.init)
            let recipe = try #require(recipes.first { $0.contains("curl") && $0.contains("api.example.com") })
            let line = recipe.replacing("https://api.example.com/me", with: "\(scene.issuer.issuer)/resource")
            let result = try await scene.agent.shell(line)
            #expect(result.status == 4, "\(line): \(result)")
            #expect(scene.issuer.requests(to: "/resource").isEmpty)
        }

        @Test(
            .holds("127"),
            arguments: [
                ["get"], ["get", "work", "--min-valid", "soon"], ["frobnicate"],
                ["get", "work", "--format", "xml"],
            ]
        )
        func `wrong usage is 2`(arguments: [String]) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl(arguments)
            #expect(result.status == 2, "\(result)")
            #expect(!result.standardError.isEmpty)
            #expect(result.standardOutput.isEmpty)
        }

        @Test(.holds("127")) func `a session that never logged in is 4, an unknown one 7`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let known = try await scene.agent.tokenctl("get", "work")
            #expect(known.status == 4)
            #expect(known.complainsInOneLine, "\(known.standardError)")
            #expect(known.standardError.contains("tokenctl login work"))
            let unknown = try await scene.agent.tokenctl("get", "elsewhere")
            #expect(unknown.status == 7)
            #expect(unknown.complainsInOneLine, "\(unknown.standardError)")
        }

        @Test(arguments: [
            ["watch"], ["watch", "--json"], ["audit"], ["audit", "--follow"], ["status", "--watch"],
        ])
        func `following a session that does not exist is 7 at once`(command: [String]) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl(command + ["elsewhere"])
            #expect(result.status == 7)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardError.contains("no session named \"elsewhere\""))
        }

        @Test(.holds("19", "127")) func `a locked agent is 6 for everything that would show something`()
            async throws
        {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            #expect(try await scene.agent.tokenctl("lock").status == 0)
            for command in [
                ["get", "work"], ["refresh", "work"], ["login", "work", "--password-stdin"], ["list"],
                ["audit"],
            ] {
                let result = try await scene.agent.tokenctl(command, input: "alice-password\n")
                #expect(result.status == 6, "\(command)")
                #expect(result.complainsInOneLine, "\(result.standardError)")
            }
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            #expect(try await scene.token() == token)
        }

        @Test(.holds("127")) func `with --json the failure is JSON as well`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl("get", "work", "--format", "json")
            #expect(result.status == 4)
            let reply = try await scene.agent.socket.request("GET", "/v1/sessions/work/token")
            #expect(reply.status == 401)
            let error = try #require(reply.json?["error"]?.object)
            #expect(error["code"] == "login_required")
            #expect(error["session"] == "work")
            #expect(error["remedy"]?.string?.contains("tokenctl login work") == true)
        }

        @Test func `a mistake in the configuration names file, line and key`() async throws {
            let scene = try await Scene(session: "scoped = [\"x\"]")
            let checked = try await scene.agent.tokenctl("config", "check")
            #expect(checked.status == 2)
            #expect(checked.standardError.contains("config.toml:8"), "\(checked.standardError)")
            #expect(checked.standardError.contains("scoped"))
            let started = try await Program.run(
                [BuiltPrograms.agent, "--foreground"],
                environment: scene.agent.environment
            )
            #expect(started.status == 2)
            #expect(started.standardError.contains("scoped"))
        }

        @Test func `a configuration that is not TOML is 2, also in the background`() async throws {
            let agent = try AgentUnderTest(configuration: "[session.work\n")
            let result = try await Program.run([BuiltPrograms.agent], environment: agent.environment)
            #expect(result.status == 2)
            #expect(result.standardOutput.isEmpty)
            #expect(result.standardError.contains("config.toml:1"), "\(result.standardError)")
        }

        @Test func `a configuration file that was asked for must exist`() async throws {
            let agent = try AgentUnderTest()
            let result = try await Program.run(
                [BuiltPrograms.agent, "--foreground", "--config", agent.home.path("missing.toml")],
                environment: agent.environment
            )
            #expect(result.status == 2)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardError.contains("missing.toml"))
        }
    }
}
