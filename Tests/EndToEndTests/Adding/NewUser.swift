// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// A new user with a browser, but without a configuration and an agent.
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

    /// Starts to add the session `home` at a terminal, of the public client that the servers' scripts register.
    ///
    /// - Parameters:
    ///   - issuer: where.
    ///   - port: of the redirect address.
    ///   - state: the file in which the server's script says how its browser logs in.
    /// - Returns: the terminal, which asks what the issuer does not say.
    /// - Throws: the system's error if there can be no browser or no terminal.
    func addPublicClient(at issuer: String, port: Int, browser state: String) throws -> ProgramAtTerminal {
        try ProviderScript.writeBrowser(of: agent, for: state)
        return try atTerminal(
            "add",
            "home",
            "--issuer",
            issuer,
            "--client-id",
            "tokenagent-public",
            "--redirect-port",
            "\(port)"
        )
    }

    /// Answers the question whether to log in, and waits until that is done.
    func logIn(at terminal: ProgramAtTerminal) async throws {
        try await terminal.type("", after: "Log in now? [Y/n] ")
        let isLoggedIn = try await terminal.shows("Logged in to \"home\"")
        try #require(isLoggedIn, "\(terminal.screen) \(browserLog)")
    }

    /// Logs in to `home` with a password.
    func logIn(as name: String, password: String) async throws {
        let login = try await tokenctl(
            "login",
            "home",
            "--username",
            name,
            "--password-stdin",
            input: password + "\n"
        )
        try #require(login.status == 0, "\(login)")
    }

    private var browserLog: Substring { (File.text(agent.home.path("browser.log")) ?? "").suffix(2000) }

    /// Returns `true` if the session has a token, and a different one after a refresh.
    func hasTokens() async throws -> Bool {
        let first = try await tokenctl("get", "home")
        let refreshed = try await tokenctl("refresh", "home")
        let second = try await tokenctl("get", "home")
        return first.status == 0 && refreshed.status == 0 && second.status == 0 && first.line != second.line
    }
}
