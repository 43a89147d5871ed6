// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// An issuer and an agent whose session `work` belongs to it.
struct Scene {
    let issuer: DemoIssuer
    let agent: AgentUnderTest

    /// Starts the issuer and lays out the agent's configuration; the agent itself is not started.
    ///
    /// `settings` changes the issuer, whose access tokens live ten minutes unless told otherwise, and `change`
    /// how it listens; `session` holds more lines of `[session.work]`, `more` whatever stands in front of it.
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

    /// A scene whose agent runs and whose session `work` is logged in.
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

    /// Whether the issuer's resource accepts `token`.
    func isAccepted(_ token: String) async throws -> Bool {
        let result = try await agent.shell(
            "curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer \(token)' \(issuer.issuer)/resource"
        )
        return result.line == "200"
    }

    /// Refreshes so far, as the issuer counts them.
    var refreshes: Int { issuer.tokenRequests("refresh_token") }

    /// Waits until an access token bought before this call has no life left.
    func accessTokenExpires() async throws -> Bool {
        let end = ContinuousClock.now + issuer.settings.accessLifetime + .milliseconds(50)
        return try await Polling.until { ContinuousClock.now >= end }
    }

    /// Whether a refresh succeeds, once one that was under way, and may yet fail, has ended.
    func refreshesAgain() async throws -> Bool {
        try await Polling.until { try await agent.tokenctl("refresh", "work").status == 0 }
    }

    /// Waits until this many requests wait in the agent for a refresh.
    func waiters(_ count: Int) async throws -> Bool { try await agent.hasWaiters(count) }
}

extension ProgramResult {
    /// Standard error is one line that says what happened.
    var complainsInOneLine: Bool {
        let lines = standardError.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.count == 2 && lines[1].isEmpty && lines[0].count > 10
    }
}
