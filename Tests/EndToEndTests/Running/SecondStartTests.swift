// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// A start on a store that an agent at another socket uses already.
    @Suite struct SecondStartTests {
        private let scene: Scene
        private let other: String

        init() async throws {
            scene = try await Scene()
            other = scene.agent.home.path("run/other.sock")
            try await scene.agent.start()
        }

        private func start(_ arguments: String...) async throws -> ProgramResult {
            try await Program.run(
                [BuiltPrograms.agent, "-a", other] + arguments,
                environment: scene.agent.environment
            )
        }

        private func writeNote(_ text: String) throws {
            try File.write(text, to: scene.agent.statePath + "/lock")
        }

        @Test(arguments: ["-s", "-c", "--fish"])
        func `it prints the lines of that agent`(syntax: String) async throws {
            let same = try await Program.run(
                [BuiltPrograms.agent, syntax],
                environment: scene.agent.environment
            )
            let elsewhere = try await start(syntax)
            #expect(elsewhere.status == 0, "\(elsewhere.standardError)")
            #expect(elsewhere.standardOutput == same.standardOutput)
            #expect(elsewhere.standardOutput.contains(scene.agent.socketPath))
            #expect(elsewhere.complainsInOneLine)
            #expect(elsewhere.standardError.contains("already running at \(scene.agent.socketPath)"))
            #expect(!File.exists(other))
        }

        @Test func `a command gets the socket of that agent`() async throws {
            let pid = try #require(SocketOwner.pid(scene.agent.socketPath))
            let script = #"echo "$TOKENAGENT_SOCK $TOKENAGENT_PID"; tokenctl list >/dev/null"#
            let result = try await start("/bin/sh", "-c", script)
            #expect(result.status == 0, "\(result.standardError)")
            #expect(result.line == "\(scene.agent.socketPath) \(pid)")
        }

        @Test func `another path to the same store makes no difference`() async throws {
            let link = scene.agent.home.path("link")
            try #require(Program.succeeds("ln -s '\(scene.agent.home.path("state"))' '\(link)'"))
            let result = try await start("--state-dir", link + "/tokenagent")
            #expect(result.status == 0, "\(result.standardError)")
            #expect(result.standardOutput.contains(scene.agent.socketPath))
        }

        @Test func `a note that leads to the agent of another store is not believed`() async throws {
            let stranger = try await Scene()
            try await stranger.agent.start()
            try await scene.agent.end()
            try writeNote("1\n\(stranger.agent.socketPath)\n")
            let result = try await start("-s")
            #expect(result.status == 0, "\(result.standardError)")
            #expect(result.standardOutput.contains("TOKENAGENT_SOCK=\(other);"))
            #expect(try await start("-k").status == 0)
        }

        @Test(arguments: ["", "garbage", "1\n/nowhere/agent.sock\n"])
        func `an old note keeps no agent from starting`(note: String) async throws {
            try await scene.agent.kill()
            try writeNote(note)
            let result = try await start("-s")
            #expect(result.status == 0, "\(result.standardError)")
            #expect(result.standardOutput.contains("TOKENAGENT_SOCK=\(other);"))
            #expect(try await start("-k").status == 0)
        }
    }
}
