// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// `tokenctl` knows `get`; everything else is in `tokenctl-commands`, wherever that was put.
@Suite struct `tokenctl and the file with the other commands` {
    private static let names = #"{"sessions":[{"session":"work","state":"ready"}]}"#

    private let place: TemporaryDirectory

    init() throws {
        place = try TemporaryDirectory()
    }

    /// Copies a program under another name.
    private func copy(_ program: String, as name: String) async throws {
        let path = place.path(name)
        let directory = path.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        let result = try await Program.run(
            ["/bin/sh", "-c", "mkdir -p \"$2\" && cp \"$0\" \"$1\"", program, path, directory],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        try #require(result.status == 0, "\(result.standardError)")
    }

    private func run(_ arguments: String..., agent: ScriptedAgent) async throws -> ProgramResult {
        try await Program.run(
            [place.path("bin/tokenctl")] + arguments,
            environment: [
                "TOKENAGENT_SOCK": agent.socket, "TOKENAGENT_AUTOSTART": "0", "PATH": "/usr/bin:/bin",
            ]
        )
    }

    @Test func `copied alone it gives tokens, and names the file that it needs for the rest`() async throws {
        try await copy(BuiltPrograms.client, as: "bin/tokenctl")
        let agent = try ScriptedAgent(.read, .answer("AT\n", type: "text/plain"))
        #expect(try await run("get", "work", agent: agent).all == (0, "AT\n", ""))
        for arguments in [["list"], ["get", "--help"], ["--version"]] {
            let result = try await Program.run([place.path("bin/tokenctl")] + arguments, environment: [:])
            #expect(result.status == 1)
            #expect(result.standardOutput.isEmpty)
            #expect(result.standardError.split(separator: "\n").count == 2)
            #expect(result.standardError.contains("tokenctl-commands not found"), "\(result.standardError)")
            #expect(result.standardError.contains("  Retry: after installing tokenctl-commands "))
        }
    }

    @Test func `its failure is JSON where that was asked for, and ends an eval`() async throws {
        try await copy(BuiltPrograms.client, as: "bin/tokenctl")
        let client = place.path("bin/tokenctl")
        let failed = try await Program.run([client, "list", "--json"], environment: [:])
        #expect(
            failed.standardOutput.hasPrefix(
                #"{"error":{"code":"internal","message":"tokenctl-commands not found"#
            )
        )
        let evaluated = try await Program.run([client, "get", "--format", "env"], environment: [:])
        #expect(evaluated.standardOutput == "unset BEARER_TOKEN; (exit 1)\n")
    }

    @Test(arguments: ["bin/tokenctl-commands", "libexec/tokenagent/tokenctl-commands"])
    func `the other commands are found beside it and where they are installed`(name: String) async throws {
        try await copy(BuiltPrograms.client, as: "bin/tokenctl")
        try await copy(BuiltPrograms.commands, as: name)
        let agent = try ScriptedAgent(.read, .answer(Self.names))
        #expect(try await run("list", agent: agent).all == (0, "work\n", ""))
    }

    @Test func `by the name of a helper it is that helper, also through a link`() async throws {
        try await copy(BuiltPrograms.client, as: "bin/tokenctl")
        try await copy(BuiltPrograms.commands, as: "libexec/tokenagent/tokenctl-commands")
        let link = place.path("git-credential-tokenagent")
        let made = try await Program.run(["/bin/ln", "-s", "bin/tokenctl", link], environment: [:])
        try #require(made.status == 0)
        let result = try await Program.run([link, "--help"], environment: [:])
        #expect(result.status == 0, "\(result.standardError)")
        #expect(result.standardOutput.contains("git-credential"))
    }

    @Test func `under the name tokenctl the file of the other commands does everything alone`() async throws {
        try await copy(BuiltPrograms.commands, as: "bin/tokenctl")
        let agent = try ScriptedAgent(.read, .answer("AT\n", type: "text/plain"))
        #expect(try await run("get", "work", agent: agent).all == (0, "AT\n", ""))
        let listing = try ScriptedAgent(.read, .answer(Self.names))
        #expect(try await run("list", agent: listing).all == (0, "work\n", ""))
    }

    @Test func `what a start changes in the environment does not reach the other program`() async throws {
        try await copy(BuiltPrograms.client, as: "bin/tokenctl")
        try place.write("#!/bin/sh\nenv >'\(place.path("seen"))'\n", to: "bin/tokenctl-commands", mode: 0o700)
        let result = try await Program.run(
            [place.path("bin/tokenctl"), "list"],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        #expect(result.status == 0, "\(result.standardError)")
        #expect(File.text(place.path("seen"))?.contains("SWIFT_BACKTRACE") == false)
    }
}
