// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@Suite struct `Options of every command` {
    private func run(_ arguments: [String]) async throws -> ProgramResult {
        try await Program.run(
            [BuiltPrograms.client] + arguments,
            environment: ["HOME": "/nonexistent", "TOKENAGENT_AUTOSTART": "0"]
        )
    }

    /// The commands that do something, each with the words that call it.
    private func leaves(_ command: JSONObject, _ path: [String] = []) -> [(path: [String], JSONObject)] {
        let children = command["subcommands"]?.array?.compactMap(\.object) ?? []
        let named = children.compactMap { child in child["commandName"]?.string.map { ($0, child) } }
            .filter { $0.0 != "help" }
        guard named.isEmpty == false else { return [(path, command)] }
        return named.flatMap { leaves($0.1, path + [$0.0]) }
    }

    private func options(_ command: JSONObject) -> Set<String> {
        let arguments = command["arguments"]?.array?.compactMap(\.object) ?? []
        let names = arguments.flatMap { $0["names"]?.array?.compactMap(\.object) ?? [] }
        return Set(names.compactMap { $0["name"]?.string })
    }

    @Test func `the agent can be named to every command`() async throws {
        let dump = try await run(["--experimental-dump-help"]).standardOutput
        let root = try #require(try JSONValue(parsing: dump.utf8).object?["command"]?.object)
        let commands = leaves(root)
        #expect(commands.count > 30)
        for (path, command) in commands {
            #expect(options(command).isSuperset(of: ["socket", "no-autostart"]), "\(path)")
        }
    }

    @Test(arguments: [
        ["config", "example"], ["config", "path"], ["config", "check"], ["completions", "fish"], ["version"],
    ])
    func `a command that needs no agent takes its options`(command: [String]) async throws {
        let result = try await run(command + ["--socket", "/nonexistent/s", "--no-autostart"])
        #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
        #expect(result.standardOutput.isEmpty == false)
    }

    @Test(arguments: [
        ["get", "work"], ["get", "work", "--json"], ["list"], ["config", "path"], ["doctor"],
        ["git-credential", "get"], ["completions", "bash"],
    ])
    func `an empty path of the socket is wrong usage`(command: [String]) async throws {
        for option in [["--socket", ""], ["--socket="]] {
            let result = try await run(command + option)
            #expect(result.status == 2)
            #expect(result.standardError.contains("'--socket <path>'"), "\(result.standardError)")
        }
    }

    @Test(arguments: [
        (["get", "work", "--time", "60"], "--min-valid instead of --time"),
        (["login", "work", "--rt", "x"], "--refresh-token-stdin instead of --rt"),
        (["add", "work", "--rt", "x"], "--flow import instead of --rt"),
        (["add", "work", "--iss", "https://id.example"], "--issuer instead of --iss"),
        (["login", "work", "--pw-cmd", "pass"], "--password-stdin instead of --pw-cmd"),
    ])
    func `options of oidc-agent are told by our names`(arguments: [String], remedy: String) async throws {
        let result = try await run(arguments)
        #expect(result.status == 2)
        #expect(result.standardError.hasSuffix("\n  Set: \(remedy)\n"), "\(result.standardError)")
    }
}
