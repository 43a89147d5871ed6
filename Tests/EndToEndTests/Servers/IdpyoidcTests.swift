// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

private let isOff: Comment =
    "takes half a minute and PyPI; set TOKENAGENT_TEST_FULL=1, and TOKENAGENT_IDP_DIR to the directory of its script"

extension EndToEnd {
    /// idpyoidc wants consent before it gives a refresh token, spends the refresh token with every narrower request,
    /// and says Bearer where it was asked for tokens bound to a key.
    @Suite(.enabled(if: Idpyoidc.isAvailable, isOff), .serialized)
    struct IdpyoidcTests {
        @Suite(.idpyoidc()) struct Bearer {
            @Test func `a login asks for consent and lives on through narrower tokens and a restart`()
                async throws
            {
                let scene = try await IdpyoidcScene()
                try await scene.logIn()
                let status = try await scene.agent.status("work")
                #expect(status["refresh_expires_at"]?.integer != nil, "\(status)")
                var seen: Set<String> = [try await scene.get()]
                for _ in 0..<3 {
                    // Without offline_access the server would give no refresh token for the one it takes.
                    seen.insert(try await scene.get("--scope", "api"))
                    #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
                    seen.insert(try await scene.get())
                }
                #expect(seen.count == 7)
                #expect(try await scene.agent.status("work")["rotation"]?.string == "rotates")
                try await scene.agent.kill()
                try await scene.agent.start()
                #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
                #expect(try await scene.agent.status("work")["state"]?.string == "ready")
            }

            @Test
            func `a login is asked for again where the configuration wants that, in the class it names`()
                async throws
            {
                let password = "urn:oasis:names:tc:SAML:2.0:ac:classes:InternetProtocolPassword"
                for (more, asksAgain) in [("", false), ("prompt = \"login consent\"", true)] {
                    let scene = try await IdpyoidcScene(
                        more: """
                            acr_values = ["\(password)"]
                            max_age = "1h"
                            \(more)
                            """
                    )
                    try await scene.logIn()
                    let claims = try await scene.agent.tokenctl("claims", "work", "--id-token", "--json")
                    let printed = try JSONValue(parsing: claims.standardOutput.utf8).object
                    let identity = printed?["claims"]?.object
                    #expect(identity?["acr"]?.string == password, "\(claims)")
                    #expect(identity?["auth_time"]?.integer != nil, "\(claims)")
                    // The browser has kept the login at the server, which asks again only if it is told to.
                    try await scene.logIn()
                    let browser = File.text(scene.agent.home.path("browser.log")) ?? ""
                    #expect(browser.contains("/verify/user") == asksAgain, "\(browser)")
                }
            }

            @Test func `an address and a public client are enough for a new user`() async throws {
                let server = try #require(Idpyoidc.server)
                let user = try NewUser()
                let terminal = try user.addPublicClient(
                    at: server.issuer,
                    port: 18405,
                    browser: server.statePath
                )
                try await user.logIn(at: terminal)
                #expect(try await user.hasTokens())
            }

            @Test func `a login's token is exchanged, anew for each renewal, and ends with the login`()
                async throws
            {
                let scene = try await IdpyoidcScene(tables: IdpyoidcScene.exchange())
                try await scene.logIn()
                #expect(try await scene.agent.reaches("ready", "made"), "\(scene.agent.log)")
                var seen: Set<String> = [try await scene.get()]
                for _ in 0..<3 {
                    let result = try await scene.agent.tokenctl("refresh", "made")
                    #expect(result.status == 0, "\(result) \(scene.agent.log)")
                    seen.insert(try await scene.agent.tokenctl("get", "made").line)
                }
                #expect(seen.count == 4)
                #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
                #expect(try await scene.agent.tokenctl("get", "made").status == 4)
            }
        }

        @Suite(.idpyoidc("--access-ttl", "600")) struct Lasting {
            /// Another organization's issuer, which trusts `issuer` and its keys.
            private static func partner(of issuer: String) async throws -> DemoIssuer {
                let partner = try await DemoIssuer.start()
                let keys = try await Program.run(
                    ["curl", "-s", issuer + "/jwks"],
                    environment: ["PATH": TestEnvironment.searchPath]
                )
                let set = try JSONValue(parsing: keys.standardOutput.utf8).object
                partner.registry.clients.append(RegisteredClient(id: "tokenagent-public"))
                partner.registry.signers = [TrustedSigner(issuer, keys: set?["keys"]?.array ?? [])]
                return partner
            }

            @Test func `a token that is exchanged here is the assertion at another issuer`() async throws {
                let issuer = Idpyoidc.server?.issuer ?? ""
                let partner = try await Self.partner(of: issuer)
                let scene = try await IdpyoidcScene(
                    tables: IdpyoidcScene.exchange("audience = \"\(partner.issuer)\"") + """

                        [session.partner]
                        issuer = "\(partner.issuer)"
                        client_id = "tokenagent-public"
                        scopes = ["api"]
                        flow = "jwt_bearer"
                        from = "made"

                        """
                )
                try await scene.logIn()
                #expect(try await scene.agent.reaches("ready", "partner"), "\(scene.agent.log)")
                for _ in 0..<2 {
                    let result = try await scene.agent.tokenctl("refresh", "partner")
                    #expect(result.status == 0, "\(result) \(scene.agent.log)")
                }
                let shown = partner.requests(to: "/token").compactMap { $0.form["assertion"] }
                #expect(shown.count == 3 && Set(shown).count == 3)
                #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
                #expect(try await scene.agent.tokenctl("get", "partner").status == 4)
            }
        }

        @Suite(.idpyoidc("--dpop")) struct Bound {
            @Test func `a token for any bearer costs the login nothing, and is told`() async throws {
                let scene = try await IdpyoidcScene(more: "dpop = true")
                try await scene.logIn()
                let reason = "the token_type in the response is Bearer, not DPoP"
                for _ in 0..<3 {
                    // The refresh token of each answer is kept: the server takes the next one and says the same.
                    let refresh = try await scene.agent.tokenctl("refresh", "work")
                    #expect(refresh.standardError.contains(reason), "\(refresh) \(scene.agent.log)")
                }
                let status = try await scene.agent.status("work")
                #expect(status["state"]?.string == "suspended")
                #expect(status["message"]?.string?.contains(reason) == true, "\(status)")
                try await scene.agent.kill()
                try await scene.agent.start()
                let again = try await scene.agent.tokenctl("refresh", "work")
                #expect(again.standardError.contains(reason), "\(again) \(scene.agent.log)")
            }
        }
    }
}

/// The provider of the running suite.
private struct Idpyoidc: SuiteTrait, TestScoping {
    static let script = ProviderScript("idpyoidc_op.py")
    static var isAvailable: Bool { TestEnvironment.isFull && script.isAvailable }

    @TaskLocal static var server: (statePath: String, issuer: String)?

    let options: [String]

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Idpyoidc.script.whileRunning(options) { work, state in
            let server = (work.path("idpyoidc/state.json"), state["issuer"]?.string ?? "")
            try await Idpyoidc.$server.withValue(server, operation: function)
        }
    }
}

extension Trait where Self == Idpyoidc {
    fileprivate static func idpyoidc(_ options: String...) -> Self { Idpyoidc(options: options) }
}

/// An agent whose session `work` belongs to the running provider.
private struct IdpyoidcScene {
    let agent: AgentUnderTest

    init(more: String = "", tables: String = "") async throws {
        guard let server = Idpyoidc.server else { throw ProviderScript.Failure.notRunning }
        agent = try AgentUnderTest(
            configuration: """
                [session.work]
                kind = "oidc"
                issuer = "\(server.issuer)"
                client_id = "tokenagent-public"
                scopes = ["openid", "offline_access", "api"]
                flow = "browser"
                redirect_port = 18405
                \(more)

                \(tables)

                """
        )
        try ProviderScript.writeBrowser(of: agent, for: server.statePath)
        try await agent.start()
    }

    /// The table of a session `made`, whose tokens are exchanged for those of `work`.
    static func exchange(_ more: String = "") -> String {
        """
        [session.made]
        issuer = "\(Idpyoidc.server?.issuer ?? "")"
        client_id = "tokenagent-public"
        scopes = ["openid"]
        flow = "token_exchange"
        from = "work"
        \(more)

        """
    }

    func logIn() async throws {
        let result = try await agent.tokenctl("login", "work")
        let browser = File.text(agent.home.path("browser.log")) ?? ""
        try #require(result.status == 0, "\(result.standardError) \(agent.log) \(browser.suffix(2000))")
    }

    func get(_ options: String...) async throws -> String {
        let result = try await agent.tokenctl(["get", "work"] + options)
        try #require(result.status == 0, "\(result.standardError) \(agent.log)")
        return result.line
    }
}
