// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// An issuer and an agent whose session `work` belongs to it.
struct Scene {
    let issuer: DemoIssuer
    let agent: AgentUnderTest

    /// Starts the issuer and writes the agent's configuration, but does not start the agent.
    ///
    /// `settings` changes the issuer, whose access tokens are valid for ten minutes by default, and `change` its
    /// listening options. `session` has further lines of `[session.work]`, and `more` the lines before that table.
    init(
        _ settings: (inout IssuerSettings) -> Void = { _ in },
        options change: (inout DemoIssuer.Options) throws -> Void = { _ in },
        session: String = "",
        flow: String = "password",
        client: String = "demo-public",
        more: String = "",
        in parent: String? = nil
    ) async throws {
        var options = DemoIssuer.Options()
        options.settings.accessLifetime = .seconds(600)
        settings(&options.settings)
        try change(&options)
        issuer = try await DemoIssuer.start(options)
        agent = try AgentUnderTest(
            configuration: more + "\n"
                + Scene.session("work", issuer, flow: flow, client: client, more: session),
            in: parent
        )
    }

    /// The table of a session at `issuer`.
    static func session(
        _ name: String,
        _ issuer: DemoIssuer,
        flow: String = "password",
        client: String = "demo-public",
        more: String = ""
    ) -> String {
        """
        [session.\(name)]
        kind = "oidc"
        issuer = "\(issuer.issuer)"
        client_id = "\(client)"
        scopes = ["openid", "offline_access", "api"]
        flow = "\(flow)"
        \(more)

        """
    }

    /// Returns a scene with a running agent whose session `work` is logged in.
    static func loggedIn(
        _ settings: (inout IssuerSettings) -> Void = { _ in },
        options change: (inout DemoIssuer.Options) throws -> Void = { _ in },
        session: String = "",
        more: String = "",
        in parent: String? = nil
    ) async throws -> Scene {
        let scene = try await Scene(settings, options: change, session: session, more: more, in: parent)
        try await scene.agent.start()
        try await scene.logIn()
        return scene
    }

    /// Logs in with alice's password.
    func logIn(_ session: String = "work", sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let result = try await agent.tokenctl(
            "login",
            session,
            "--flow",
            "password",
            "--username",
            "alice",
            "--password-stdin",
            input: "alice-password\n"
        )
        try #require(
            result.status == 0,
            "login failed: \(result.standardError) \(agent.log)",
            sourceLocation: sourceLocation
        )
    }

    /// Runs `tokenctl get work`, which must succeed, and returns the token.
    func token(
        _ arguments: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let result = try await agent.tokenctl(["get", "work"] + arguments)
        try #require(
            result.status == 0,
            "get failed: \(result.standardError) \(agent.log)",
            sourceLocation: sourceLocation
        )
        return result.line
    }

    /// Returns `true` if the issuer's resource accepts `token`.
    func isAccepted(_ token: String) async throws -> Bool {
        let result = try await agent.shell(
            "curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer \(token)' \(issuer.issuer)/resource"
        )
        return result.line == "200"
    }

    /// The number of refreshes that the issuer has received.
    var refreshes: Int { issuer.tokenRequests("refresh_token") }

    /// Waits until an access token obtained before this call has expired.
    func accessTokenExpires() async throws -> Bool {
        let end = ContinuousClock.now + issuer.settings.accessLifetime + .milliseconds(50)
        return try await Polling.until { ContinuousClock.now >= end }
    }

    /// Retries until a refresh succeeds, because a refresh in flight may still fail.
    ///
    /// - Returns: `true` if one has succeeded in time.
    func refreshesAgain() async throws -> Bool {
        try await Polling.until { try await agent.tokenctl("refresh", "work").status == 0 }
    }

    /// Waits until this many requests wait in the agent for a refresh.
    func waiters(_ count: Int) async throws -> Bool { try await agent.hasWaiters(count) }
}

extension ProgramResult {
    /// Whether standard error is one line with an error message, and at most one more line with a remedy.
    var complainsInOneLine: Bool {
        let lines = standardError.split(separator: "\n", omittingEmptySubsequences: false)
        let labels = ["  Run: ", "  Set: ", "  See: ", "  Retry: ", "  Usage: "]
        let others = lines.dropFirst().filter { line in !labels.contains { line.hasPrefix($0) } }
        return lines.count <= 3 && others == [""] && lines[0].count > 10
    }
}
