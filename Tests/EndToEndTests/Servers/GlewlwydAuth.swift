// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// glewlwyd over TLS with clients that prove themselves by keys and certificates, run for one suite.
struct GlewlwydAuth: SuiteTrait, TestScoping {
    /// The server of the running suite.
    struct Server: Sendable {
        let work: TemporaryDirectory
        let state: JSONObject

        var statePath: String { work.path("glewlwyd-auth/glewlwyd/state.json") }

        func issuer(_ realm: String) -> String { state["issuers"]?.object?[realm]?.string ?? "" }

        /// Returns the registration of the client `name`.
        func client(_ name: String) -> JSONObject {
            state["auth_clients"]?.object?[name]?.object ?? JSONObject()
        }
    }

    @TaskLocal static var server: Server?

    /// Whether every token request needs a proof with the server's nonce, if the client wants bound tokens (RFC 9449).
    private let bindsTokens: Bool

    fileprivate init(bindsTokens: Bool) {
        self.bindsTokens = bindsTokens
    }

    private static let script = ProviderScript("glewlwyd_auth.py")

    static var isAvailable: Bool { script.isAvailable }

    /// The server of the running suite, which must be one with this trait.
    static func current() throws -> Server {
        guard let server else { throw ProviderScript.Failure.notRunning }
        return server
    }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        // Another server runs at the same time, so this one needs a different redirect URI.
        let redirect = bindsTokens ? ["--redirect", "http://127.0.0.1:18410/callback"] : []
        try await GlewlwydAuth.script.whileRunning(["--access-ttl", "60"] + redirect) { work, state in
            for realm in bindsTokens ? ["strong", "par"] : [] {
                let words = [
                    "oauth-dpop-allowed=true", "oauth-dpop-iat-duration=60", "oauth-dpop-iat-gap-duration=5",
                    "oauth-dpop-nonce-mandatory=true", "oauth-dpop-nonce-counter=20",
                ]
                let set = try await GlewlwydAuth.script.run([work.path, "set", realm] + words)
                try #require(set.status == 0, "\(set)")
            }
            try await GlewlwydAuth.$server.withValue(Server(work: work, state: state), operation: function)
        }
    }
}

extension Trait where Self == GlewlwydAuth {
    static var glewlwydAuth: Self { GlewlwydAuth(bindsTokens: false) }
    static var glewlwydAuthWithProofs: Self { GlewlwydAuth(bindsTokens: true) }
}

/// An agent whose session `work` is that of one of glewlwyd's clients.
struct GlewlwydAuthScene: WalkedLogin {
    let server: GlewlwydAuth.Server
    let agent: AgentUnderTest

    /// - Parameters:
    ///   - client: its name in the state of the server.
    ///   - realm: `strong`, or `par`, which refuses an authorization request that was not pushed.
    ///   - flow: of the login.
    ///   - port: of the redirect address, which the server knows.
    ///   - proof: the keys by which the client proves itself, in place of those that belong to it.
    ///   - more: further keys.
    /// - Throws: the error if the agent cannot be started.
    init(
        _ client: String,
        realm: String = "strong",
        flow: String = "browser",
        port: Int = 18406,
        proof: String? = nil,
        more: String = ""
    ) async throws {
        server = try GlewlwydAuth.current()
        let registered = server.client(client)
        agent = try AgentUnderTest(
            configuration: """
                [agent]
                get_timeout = "5s"
                [session.work]
                kind = "oidc"
                issuer = "\(server.issuer(realm))"
                client_id = "\(registered["client_id"]?.string ?? "")"
                ca_file = "\(server.state["ca"]?.string ?? "")"
                \(proof ?? GlewlwydAuthScene.proof(registered))
                scopes = [\(flow == "browser" ? #""openid", "offline_access", "api""# : #""api""#)]
                flow = "\(flow)"
                \(flow == "browser" ? "redirect_port = \(port)" : "")
                \(more)

                """
        )
        try ProviderScript.writeBrowser(of: agent, for: server.statePath)
        try await agent.start()
    }

    /// Returns the configuration keys of a session for a client with this registration.
    static func proof(_ client: JSONObject) -> String {
        func line(_ key: String, _ member: String) -> String {
            client[member]?.string.map { "\(key) = \"\($0)\"\n" } ?? ""
        }
        switch client["method"]?.string {
        case "private_key_jwt":
            return "client_authentication = \"private_key_jwt\"\n" + line("client_key_file", "key")
                + line("client_key_id", "kid")
        case "client_secret_jwt":
            return "client_authentication = \"client_secret_jwt\"\n" + line("client_secret", "client_secret")
        default:
            return "client_authentication = \"tls\"\n" + line("client_certificate_file", "cert")
                + line("client_key_file", "key")
        }
    }
}
