// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@Suite struct `tokenctl config` {
    private static let good =
        "[session.work]\nkind = \"oidc\"\nissuer = \"https://id.example\"\nclient_id = \"c\"\n"

    private let home: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
    }

    private func run(
        _ arguments: String...,
        environment: [String: String]? = nil
    ) async throws -> ProgramResult {
        try await Program.run(
            [BuiltPrograms.client, "config"] + arguments,
            environment: environment ?? ["HOME": home.path]
        )
    }

    @Test func `a right configuration is said to be so`() async throws {
        let file = try home.write(Self.good, to: "c.toml")
        let text = try await run("check", "--config", file)
        #expect(text.all == (0, "\(file): OK (1 session)\n", ""))
        let json = try await run("check", "--config", file, "--json")
        #expect(json.all == (0, #"{"file":"\#(file)","ok":true,"sessions":1,"problems":[]}"# + "\n", ""))
    }

    @Test func `where there are only session files, their directory is named`() async throws {
        for name in [".config", ".config/tokenagent", ".config/tokenagent/sessions.d"] {
            try home.makeDirectory(name)
        }
        try home.write(Self.good, to: ".config/tokenagent/sessions.d/work.toml")
        let text = try await run("check")
        #expect(text.all == (0, "\(home.path(".config/tokenagent/sessions.d")): OK (1 session)\n", ""))
    }

    @Test func `each mistake is told with file, line and key`() async throws {
        let file = try home.write(Self.good + "scoped = 1\n[agent]\nlead = 2\n", to: "c.toml")
        let text = try await run("check", "--config", file)
        #expect(text.status == 2 && text.standardOutput.isEmpty)
        let lines = text.standardError.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("tokenctl: \(file):5: session.work.scoped: ") == true)
        #expect(lines.last?.hasPrefix("tokenctl: \(file):7: agent.lead: ") == true)
        let json = try await run("check", "--config", file, "--json")
        #expect(json.status == 2)
        #expect(json.standardError == text.standardError)
        let report = try #require(try JSONValue(parsing: json.standardOutput.utf8).object)
        #expect(report["file"]?.string == file && report["ok"] == false)
        let problems = report["problems"]?.array?.compactMap(\.object) ?? []
        #expect(problems.map { $0["line"]?.integer } == [5, 7])
        #expect(problems.map { $0["key"]?.string } == ["session.work.scoped", "agent.lead"])
        #expect(problems.allSatisfy { $0["message"]?.string?.isEmpty == false })
    }

    @Test func `a thousand mistakes are all told`() async throws {
        let lines = (0..<1000).map { "mistake_number_\($0) = \"\(String(repeating: "x", count: 60))\"\n" }
        let file = try home.write("[agent]\n" + lines.joined(), to: "c.toml")
        let json = try await run("check", "--config", file, "--json")
        let report = try #require(try JSONValue(parsing: json.standardOutput.utf8).object)
        #expect(report["problems"]?.array?.count == 1000)
        #expect(json.standardError.split(separator: "\n").count == 1000)
    }

    @Test func `a file that is not there has no line`() async throws {
        let file = home.path("missing.toml")
        let json = try await run("check", "--config", file, "--json")
        #expect(json.status == 2)
        let report = try #require(try JSONValue(parsing: json.standardOutput.utf8).object)
        let problem = try #require(report["problems"]?.array?.first?.object)
        #expect(report["file"]?.string == file)
        #expect(problem.members.map(\.name) == ["message"])
    }

    @Test func `what the agent's program complains about is passed on in the name of this one`() async throws
    {
        let environment = ["HOME": home.path, "TOKENAGENT_CONFIG": "relative.toml"]
        let result = try await run("check", "--json", environment: environment)
        #expect(result.status == 2)
        #expect(result.standardError.hasPrefix("tokenctl: TOKENAGENT_CONFIG is not an absolute path"))
        #expect(result.standardOutput.hasPrefix(#"{"error":{"code":"misconfigured""#))
        let empty = try await run("check", "--config", "")
        #expect(empty.all == (2, "", "tokenctl: --config requires a path\n  See: tokenctl config --help\n"))
    }

    @Test func `without HOME the remedy names the variable that helps`() async throws {
        for option in [[], ["--json"]] {
            let result = try await Program.run(
                [BuiltPrograms.client, "config", "path"] + option,
                environment: [:]
            )
            #expect(result.status == 2)
            #expect(
                result.standardError == "tokenctl: HOME is not set\n  Set: HOME or TOKENAGENT_CONFIG\n"
            )
        }
        let named = try await run("path", environment: ["TOKENAGENT_CONFIG": "/c.toml"])
        #expect(named.all == (0, "/c.toml\n", ""))
    }

    @Test func `the places are those of the options`() async throws {
        let result = try await run("path", "--json", "--socket", "/run/s")
        let places = try #require(try JSONValue(parsing: result.standardOutput.utf8).object)
        #expect(places["configuration"]?.string == home.path(".config/tokenagent/config.toml"))
        #expect(places["state"]?.string == home.path(".local/state/tokenagent"))
        #expect(places["socket"] == "/run/s")
    }

    @Test func `the paths are those of the running agent, which a note says where they differ`() async throws
    {
        let about = #"{"version":"1","api":1,"store":"/other/state","configuration":"/other/config.toml"}"#
        let usual = home.path(".config/tokenagent/config.toml")
        for options in [[], ["--json"]] {
            let agent = try ScriptedAgent(.read, .answer(about))
            let result = try await Program.run(
                [BuiltPrograms.client, "config", "path", "--socket", agent.socket] + options,
                environment: ["HOME": home.path]
            )
            #expect(result.status == 0 && result.standardOutput.contains("/other/config.toml"), "\(result)")
            #expect(result.standardOutput.contains("/other/state") == !options.isEmpty, "\(result)")
            let note =
                "tokenctl: the running agent uses /other/config.toml; this environment names \(usual)\n"
            #expect(result.standardError == note)
        }
    }
}
