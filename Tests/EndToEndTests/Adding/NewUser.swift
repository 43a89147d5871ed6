// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// Somebody who has never configured anything: no directory, no agent, a browser.
struct NewUser {
    let agent: AgentUnderTest
    private let environment: [String: String]

    init() throws {
        agent = try AgentUnderTest()
        File.removeTree(agent.home.path("config"))
        environment = agent.environment.merging(["TOKENAGENT_AUTOSTART": "1"]) { $1 }
    }

    /// Runs `tokenctl`, which starts an agent if there is none.
    func tokenctl(_ arguments: String..., input: String = "") async throws -> ProgramResult {
        try await tokenctl(arguments, input: input)
    }

    /// Runs `tokenctl`, which starts an agent if there is none.
    func tokenctl(_ arguments: [String], input: String = "") async throws -> ProgramResult {
        try await agent.tokenctl(arguments, input: input, extraEnvironment: environment)
    }

    /// Starts `tokenctl` at a terminal.
    func atTerminal(_ arguments: String...) throws -> ProgramAtTerminal {
        try ProgramAtTerminal([BuiltPrograms.client] + arguments, environment: environment)
    }

    /// Answers the question whether to log in, and waits until that is done.
    func logIn(at terminal: ProgramAtTerminal) async throws {
        try await terminal.type("", after: "Log in now? [Y/n] ")
        let isLoggedIn = try await terminal.shows("Logged in to home.")
        try #require(isLoggedIn, "\(terminal.screen) \(browserLog)")
    }

    private var browserLog: Substring { (File.text(agent.home.path("browser.log")) ?? "").suffix(2000) }

    /// Whether the session gives tokens, before and after a refresh.
    func hasTokens() async throws -> Bool {
        let first = try await tokenctl("get", "home")
        let refreshed = try await tokenctl("refresh", "home")
        let second = try await tokenctl("get", "home")
        return first.status == 0 && refreshed.status == 0 && second.status == 0 && first.line != second.line
    }
}
