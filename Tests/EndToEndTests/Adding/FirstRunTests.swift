// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// A machine on which nothing is configured.
    @Suite struct FirstRunTests {
        private static let on = ["TOKENAGENT_AUTOSTART": "1"]

        private func machine() throws -> AgentUnderTest {
            let agent = try AgentUnderTest()
            try #require(Program.succeeds("rm '\(agent.configurationPath)'"))
            return agent
        }

        @Test(
            .holds("190"),
            arguments: [
                "get work", "get", "status", "status work", "list", "login", "login work", "refresh work",
                "refresh", "logout work", "exec work -- true", "curl work -- https://127.0.0.1:1/",
                "claims work",
                "config check", "doctor", "aws work", "kube-credential work", "ssh --session work nowhere",
            ]
        )
        func `every command leads to the one that creates a session`(command: String) async throws {
            let agent = try machine()
            let words = command.split(separator: " ").map(String.init)
            let result = try await agent.tokenctl(words, extraEnvironment: Self.on)
            let name = words.contains("work") && words.first != "ssh" ? "work" : ""
            let said = result.standardOutput + result.standardError
            #expect(said.contains("un: tokenctl add \(name)"), "\(result)")
        }

        @Test(arguments: [[:], ["XDG_CONFIG_HOME": "/nonexistent"]])
        func `session files are all that a running agent needs`(other: [String: String]) async throws {
            let scene = try await Scene()
            let agent = try machine()
            func add(_ name: String, _ environment: [String: String]) async throws -> ProgramResult {
                let server = ["--issuer", scene.issuer.issuer, "--client-id", "demo-public"]
                return try await agent.tokenctl(["add", name] + server, extraEnvironment: environment)
            }
            #expect(try await add("work", Self.on).status == 0)
            #expect(try await agent.tokenctl(["list"], extraEnvironment: Self.on).standardOutput == "work\n")
            let checked = try await agent.tokenctl(["config", "check"], extraEnvironment: other)
            #expect(checked.status == 0 && checked.standardOutput.hasSuffix("OK (1 session)\n"), "\(checked)")
            let path = try await agent.tokenctl(["config", "path"], extraEnvironment: other)
            #expect(path.standardOutput == agent.configurationPath + "\n", "\(path)")
            #expect(path.standardError.isEmpty == other.isEmpty, "\(path)")
            let added = try await add("home", other)
            #expect(added.status == 0, "\(added)")
            #expect(try await agent.tokenctl("list").standardOutput == "home\nwork\n")
        }

        @Test(.holds("190")) func `what they say helps`() async throws {
            let scene = try await Scene()
            let agent = try machine()
            let unknown = try await agent.tokenctl(["get", "work"], extraEnvironment: Self.on)
            #expect(unknown.status == 7)
            #expect(
                unknown.standardError == "tokenctl: no session named \"work\"\n  Run: tokenctl add work\n"
            )
            let added = try await agent.tokenctl(
                [
                    "add", "work", "--issuer", scene.issuer.issuer, "--client-id", "demo-public", "--flow",
                    "password",
                ],
                extraEnvironment: Self.on
            )
            try #require(added.status == 0, "\(added)")
            let get = try await agent.tokenctl(["get", "work"], extraEnvironment: Self.on)
            #expect(get.status == 4 && get.standardError.contains("tokenctl login work"), "\(get)")
            // A name that was mistyped is another case.
            let mistyped = try await agent.tokenctl(["get", "wrok"], extraEnvironment: Self.on)
            #expect(
                mistyped.standardError
                    == "tokenctl: no session named \"wrok\" (configured: work)\n  Set: the session's name to work\n"
            )
            let other = try await agent.tokenctl(["get", "private"], extraEnvironment: Self.on)
            #expect(other.standardError.hasSuffix("\n  Run: tokenctl add private\n"), "\(other)")
        }

        @Test func `no file is no file without mistakes`() async throws {
            let agent = try machine()
            let check = try await agent.tokenctl("config", "check")
            #expect(check.status == 0)
            #expect(
                check.standardOutput
                    == "no configuration file at \(agent.configurationPath)\n  Run: tokenctl add NAME\n"
            )
            let doctor = try await agent.tokenctl("doctor", extraEnvironment: Self.on)
            #expect(
                doctor.standardOutput.contains("warning  sessions: none configured (run: tokenctl add NAME)")
            )
            #expect(doctor.standardOutput.contains("no configuration file at"), "\(doctor)")
        }

        @Test(.holds("212")) func `a variable that names a missing file is said to be the reason`()
            async throws
        {
            let agent = try machine()
            let missing = agent.home.path("missing.toml")
            let environment = Self.on.merging(["TOKENAGENT_CONFIG": missing]) { $1 }
            for command in [["list"], ["get", "work"], ["login", "work"]] {
                let result = try await agent.tokenctl(command, extraEnvironment: environment)
                #expect(result.status == 2, "\(result)")
                #expect(result.standardError.contains(missing), "\(result)")
                #expect(
                    result.standardError.contains("Set: TOKENAGENT_CONFIG to an existing file"),
                    "\(result)"
                )
            }
            let doctor = try await agent.tokenctl("doctor", extraEnvironment: environment)
            #expect(doctor.status == 1 && doctor.standardOutput.contains(missing), "\(doctor)")
            let check = try await agent.tokenctl(["config", "check"], extraEnvironment: environment)
            #expect(check.status == 2 && check.standardError.contains(missing), "\(check)")
        }
    }
}
