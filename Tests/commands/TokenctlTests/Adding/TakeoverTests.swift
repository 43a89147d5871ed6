// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// The handling of the agent's response to the reload after `tokenctl add`.
struct TakeoverTests {
    private let home: TemporaryDirectory
    private var configuration: String { home.path("tokenagent/config.toml") }
    private var path: String { home.path("tokenagent/sessions.d/z.toml") }

    init() throws {
        home = try TemporaryDirectory()
    }

    /// Adds a session at an agent that responds to every reload with these members or with `failure`.
    private func add(
        _ arguments: String...,
        file: String? = nil,
        restart: JSONValue = [],
        mistakes: [String] = [],
        failure: ScriptedAgent.Step? = nil,
        isLocked: Bool = false
    ) async throws -> ProgramResult {
        let answer: JSONValue = [
            "sessions": 1, "file": .string(file ?? configuration), "added": [], "removed": [], "changed": [],
            "restart": restart, "mistakes": .array(mistakes.map { .string($0) }),
        ]
        let agent = try ScriptedAgent(responding: { request in
            if request.hasPrefix("POST /v1/examine ") {
                return .answer(#"{"flows":["device"],"features":[]}"#)
            }
            if request.hasPrefix("GET /v1 ") { return .answer(#"{"locked":\#(isLocked)}"#) }
            let isCheck = request.contains(#""check":true"#)
            return isCheck ? .answer(answer.text) : failure ?? .answer(answer.text)
        })
        return try await Program(
            [BuiltPrograms.client, "add", "z", "--issuer", "https://id.example", "--client-id", "cli"]
                + arguments,
            environment: [
                "TOKENAGENT_SOCK": agent.socket, "TOKENAGENT_AUTOSTART": "0", "HOME": home.path,
                "XDG_CONFIG_HOME": home.path,
            ],
            hasTerminal: false
        )
        .finish()
    }

    private var files: [String] { home.names(in: "tokenagent/sessions.d") }

    @Test func `a session that the agent takes can be logged in to`() async throws {
        let result = try await add()
        #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
        #expect(
            result.standardOutput.hasSuffix("Created session \"z\" in \(path)\n  Run: tokenctl login z\n")
        )
        #expect(files == ["z.toml"])
    }

    @Test func `of a session that starts by itself the use is named, and no login`() async throws {
        let secret = try home.write("s3cret", to: "secret", mode: 0o600)
        let result = try await add("--flow", "client_credentials", "--client-secret-file", secret)
        #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
        #expect(result.standardOutput.hasSuffix("Created session \"z\" in \(path)\n  Run: tokenctl get z\n"))
        #expect(!result.standardOutput.contains("tokenctl login"), "\(result)")
    }

    @Test(.holds("190")) func `a file that the agent refuses is taken back`() async throws {
        let result = try await add(mistakes: [
            "\(home.path)/tokenagent/sessions.d/y.toml:1: another's", "\(path):7: session.z.flow: not this",
        ])
        #expect(
            result.status == 2 && result.standardError.contains("the agent rejected the session: \(path):7")
        )
        #expect(files.isEmpty)
    }

    @Test func `a file that the agent could not be told of is taken back`() async throws {
        let result = try await add(failure: .answer("{}", status: 500))
        #expect(result.status == 1, "\(result)")
        #expect(files.isEmpty)
    }

    @Test func `a mistake of another session takes nothing back`() async throws {
        let result = try await add(mistakes: ["\(home.path)/tokenagent/sessions.d/y.toml:1: another's"])
        #expect(result.status == 0 && !result.standardOutput.contains("Note"), "\(result)")
        #expect(files == ["z.toml"])
    }

    @Test(.holds("190")) func `what has to be done before the login is said`() async throws {
        let reach = try await add(restart: [
            ["key": "session.zz.ca_file", "reason": "another's"],
            ["key": "session.z.ca_file", "reason": "/x is outside"],
        ])
        let restart = "  Run: tokenctl shutdown && tokenctl login z\n"
        #expect(reach.standardOutput.contains("Note: session.z.ca_file: /x is outside\n"), "\(reach)")
        #expect(reach.standardOutput.hasSuffix(restart) && !reach.standardOutput.contains("another's"))
        File.remove(path)
        let directory = try await add(mistakes: ["\(home.path)/tokenagent/sessions.d: is outside"])
        #expect(directory.standardOutput.hasSuffix(restart), "\(directory)")
        File.remove(path)
        let locked = try await add(isLocked: true)
        let unlock = "  Run: tokenctl unlock && tokenctl login z\n"
        #expect(locked.standardOutput.hasSuffix(unlock), "\(locked)")
        File.remove(path)
        let refused = try await add(failure: TokenctlRun.failure("locked", 423))
        #expect(refused.status == 0 && refused.standardOutput.hasSuffix(unlock), "\(refused)")
    }
}
