// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// An authorization server this project did not write, run for one suite.
///
/// Its scripts live outside the repository; without them the suites are skipped.
struct Glewlwyd: SuiteTrait, TestScoping {
    /// The server of the running suite.
    struct Server: Sendable {
        let work: TemporaryDirectory
        let state: JSONObject

        var statePath: String { work.path("glewlwyd/state.json") }

        func issuer(_ realm: String) -> String { state["issuers"]?.object?[realm]?.string ?? "" }

        var secret: String {
            state["clients"]?.object?["confidential"]?.object?["client_secret"]?.string ?? ""
        }

        /// The certificate of its authority, under TLS.
        var authority: String? { state["ca"]?.string }

        /// Runs one of the scripts and returns what it printed.
        @discardableResult
        func script(_ name: String, _ arguments: String...) async throws -> ProgramResult {
            try await Glewlwyd.script(name, arguments)
        }

        func stop() async throws { try await script("glewlwyd.py", work.path, "stop") }

        func start() async throws {
            try await script("glewlwyd.py", work.path, "start", "--access-ttl", "60")
        }
    }

    @TaskLocal static var server: Server?

    let usesTLS: Bool

    static var isAvailable: Bool { ProviderScript("glewlwyd.py").isAvailable }

    /// The server of the running suite, which must be one with this trait.
    static func current() throws -> Server {
        guard let server else { throw ProviderScript.Failure.notRunning }
        return server
    }

    static func script(_ name: String, _ arguments: [String]) async throws -> ProgramResult {
        try await ProviderScript(name).run(arguments)
    }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        let options = ["--access-ttl", "60"] + (usesTLS ? ["--tls"] : [])
        try await ProviderScript("glewlwyd.py").whileRunning(options) { work, state in
            try await Glewlwyd.$server.withValue(Server(work: work, state: state), operation: function)
        }
    }
}

extension Trait where Self == Glewlwyd {
    static var glewlwyd: Self { Glewlwyd(usesTLS: false) }
    static var glewlwydOverTLS: Self { Glewlwyd(usesTLS: true) }
}

/// An agent whose session `work` belongs to a realm of glewlwyd.
struct GlewlwydScene: WalkedLogin {
    let server: Glewlwyd.Server
    let agent: AgentUnderTest

    init(
        realm: String,
        flow: String,
        client: String = "public",
        scopes: String = #""openid", "offline_access", "api""#,
        port: Int? = 0,
        more: String = ""
    ) async throws {
        server = try Glewlwyd.current()
        let secret = client == "confidential" ? "client_secret = \"\(server.secret)\"" : ""
        let trust = server.authority.map { "ca_file = \"\($0)\"" } ?? ""
        agent = try AgentUnderTest(
            configuration: """
                [agent]
                get_timeout = "2s"
                [session.work]
                kind = "oidc"
                issuer = "\(server.issuer(realm))"
                client_id = "tokenagent-\(client)"
                \(secret)
                \(trust)
                scopes = [\(scopes)]
                flow = "\(flow)"
                \(port.map { "redirect_port = \($0)" } ?? "")
                \(more)

                """
        )
        try ProviderScript.writeBrowser(of: agent, for: server.statePath)
        try await agent.start()
    }

    /// Refreshes the session and returns the result if it failed, or `nil` if it succeeded.
    func refreshFailure() async throws -> ProgramResult? {
        let result = try await refresh()
        return result.status == 0 ? nil : result
    }

    /// Returns `true` if the userinfo endpoint accepts the token.
    func isAccepted(_ token: String) async throws -> Bool {
        let issuer = try #require(try await agent.status("work")["issuer"]?.string)
        return try await answer(of: "\(issuer)/userinfo", headers: ["Authorization: Bearer \(token)"])
            .hasPrefix("HTTP/1.1 200")
    }

    /// Returns the status line and headers of the response to a request with `headers`.
    func answer(of url: String, headers: [String]) async throws -> String {
        let trust = server.authority.map { "--cacert '\($0)'" } ?? ""
        let options = headers.map { "-H '\($0)'" }.joined(separator: " ")
        return try await agent.shell("curl -s \(trust) -o /dev/null -D - \(options) '\(url)'").standardOutput
    }
}
