// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// An issuer and an agent of a user without rights, whose session `work` belongs to it.
///
/// To that agent the tests, which run as root, are strangers: everything goes through its own user's shell.
struct ForeignScene {
    let issuer: DemoIssuer
    let agent: AgentUnderTest
    let program: Program

    /// Starts both.
    ///
    /// `wrapper` precedes the agent's command.
    init(
        wrapper: [String] = [],
        extraEnvironment: [String: String] = [:],
        more: String = "",
        session: String = "",
        in parent: String? = nil
    ) async throws {
        let issuer = try await DemoIssuer.start()
        let agent = try AgentUnderTest(
            configuration: more + "\n" + Scene.session("work", issuer, more: session),
            in: parent
        )
        try #require(
            Program.succeeds("chown -R \(OtherUser.number):\(OtherUser.number) '\(agent.home.path)'")
        )
        program = try Program(
            OtherUser.wrapper + wrapper + [BuiltPrograms.agent, "--foreground"],
            environment: agent.environment.merging(extraEnvironment) { $1 }
        )
        self.issuer = issuer
        self.agent = agent
    }

    static func ready(
        wrapper: [String] = [],
        extraEnvironment: [String: String] = [:],
        more: String = "",
        in parent: String? = nil
    ) async throws -> ForeignScene {
        let scene = try await ForeignScene(
            wrapper: wrapper,
            extraEnvironment: extraEnvironment,
            more: more,
            in: parent
        )
        let isReady = try await Polling.until {
            try #require(scene.program.exitStatus == nil, "\(scene.program.standardError)")
            return try await scene.shell("tokenctl list").status == 0
        }
        try #require(isReady, "\(scene.program.standardError)")
        return scene
    }

    /// Logs in with alice's password.
    func logIn() async throws {
        let result = try await Program(
            OtherUser.wrapper
                + [BuiltPrograms.client, "login", "work", "--username", "alice", "--password-stdin"],
            environment: agent.environment,
            input: "alice-password\n",
            hasTerminal: false
        ).finish()
        try #require(result.status == 0, "\(result) \(program.standardError)")
    }

    /// Runs a line of shell as the agent's user.
    func shell(_ script: String) async throws -> ProgramResult {
        try await start(["/bin/sh", "-c", script]).finish()
    }

    /// Starts a program as the agent's user.
    func start(_ command: [String]) throws -> Program {
        try Program(OtherUser.wrapper + command, environment: agent.environment, hasTerminal: false)
    }
}
