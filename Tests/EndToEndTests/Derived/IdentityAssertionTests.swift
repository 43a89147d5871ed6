// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Two exchanges in a row (draft-ietf-oauth-identity-assertion-authz-grant): the issuer of the login gives an
    /// assertion for another issuer, which gives a token for that.
    @Suite struct IdentityAssertionTests {
        private static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
        private static let assertion = "urn:ietf:params:oauth:grant-type:jwt-bearer"

        /// The issuer of the login and its agent, and the other issuer, which trusts it.
        private struct Pair {
            let scene: Scene
            let other: DemoIssuer

            init(_ settings: (inout IssuerSettings) -> Void = { _ in }) async throws {
                scene = try await Scene { issuer in
                    issuer.refreshBringsIDToken = true
                    settings(&issuer)
                }
                var options = DemoIssuer.Options()
                options.settings.accessLifetime = .seconds(600)
                other = try await DemoIssuer.start(options)
                let keys = try await scene.agent.shell("curl -s \(scene.issuer.issuer)/jwks")
                let set = try JSONValue(parsing: keys.standardOutput.utf8).object
                other.registry.signers = [
                    TrustedSigner(
                        scene.issuer.issuer,
                        keys: set?["keys"]?.array ?? [],
                        audiences: [other.issuer],
                        type: TrustedSigner.identityAssertion
                    )
                ]
            }

            /// Adds the sessions `jag`, of the assertion, and `api`, of the other issuer.
            func configure() throws {
                let configuration = try #require(File.text(scene.agent.configurationPath))
                let tables = """
                    [session.jag]
                    issuer = "\(scene.issuer.issuer)"
                    client_id = "demo-public"
                    flow = "token_exchange"
                    from = "work"
                    subject_token_type = "id_token"
                    requested_token_type = "urn:ietf:params:oauth:token-type:id-jag"
                    audience = "\(other.issuer)"
                    scopes = ["api"]

                    [session.api]
                    issuer = "\(other.issuer)"
                    client_id = "demo-public"
                    flow = "jwt_bearer"
                    from = "jag"
                    scopes = ["api"]

                    """
                try scene.agent.configure(configuration + tables)
            }

            func get() async throws -> ProgramResult { try await scene.agent.tokenctl("get", "api") }

            func owner(of token: String) async throws -> String? {
                let result = try await scene.agent.shell(
                    "curl -s -H 'Authorization: Bearer \(token)' \(other.issuer)/resource"
                )
                return (try? JSONValue(parsing: result.standardOutput.utf8))?.object?["hello"]?.string
            }
        }

        private static func loggedIn() async throws -> Pair {
            let pair = try await Pair()
            try pair.configure()
            try await pair.scene.agent.start()
            try await pair.scene.logIn()
            #expect(try await pair.scene.agent.reaches("ready", "api"), "\(pair.scene.agent.log)")
            return pair
        }

        @Test(.holds("189")) func `a login here is a token there, and its end is the end of that`()
            async throws
        {
            let pair = try await Self.loggedIn()
            let token = try await pair.get().line
            #expect(try await pair.owner(of: token) == "alice")
            let shown = try #require(pair.other.requests(to: "/token").last?.form["assertion"])
            #expect(try await pair.scene.agent.tokenctl("get", "jag").line == shown)
            let login = try await pair.scene.agent.tokenctl("login", "api")
            #expect(login.status == 2 && login.standardError.contains("tokenctl login work"), "\(login)")
            try await pair.scene.agent.kill()
            pair.scene.issuer.forgetRequests()
            pair.other.forgetRequests()
            try await pair.scene.agent.start()
            #expect(try await pair.get().line == token)
            #expect(pair.scene.issuer.requests().isEmpty && pair.other.requests(to: "/token").isEmpty)
            #expect(try await pair.scene.agent.tokenctl("logout", "work").status == 0)
            let late = try await pair.get()
            #expect(late.status == 4 && late.standardError.contains("tokenctl login work"), "\(late)")
            #expect(try await Polling.until { try await pair.owner(of: token) == nil })
        }

        @Test func `no assertion is shown twice, as it is taken but once`() async throws {
            let pair = try await Self.loggedIn()
            for _ in 0..<3 {
                let result = try await pair.scene.agent.tokenctl("refresh", "api")
                #expect(result.status == 0, "\(result) \(pair.scene.agent.log)")
            }
            let shown = pair.other.requests(to: "/token").compactMap { $0.form["assertion"] }
            #expect(shown.count == 4 && Set(shown).count == 4)
            #expect(pair.scene.issuer.tokenRequests(Self.exchange) == 4)
        }

        @Test(.holds("189")) func `a thousand requests on an expired chain show no assertion twice`()
            async throws
        {
            let pair = try await Pair { $0.accessLifetime = .seconds(1) }
            try pair.configure()
            let agent = pair.scene.agent
            try await agent.start()
            // The assertion is valid for longer, but is requested again anyway.
            pair.other.settings.accessLifetime = .seconds(1)
            try await pair.scene.logIn()
            #expect(try await agent.reaches("ready", "api"), "\(agent.log)")
            #expect(try await pair.scene.accessTokenExpires())
            pair.scene.issuer.settings.accessLifetime = .seconds(600)
            pair.other.settings.accessLifetime = .seconds(600)
            let socket = agent.socket
            let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<1_000 {
                    group.addTask {
                        let reply = try await socket.request("GET", "/v1/sessions/api/token?timeout=60")
                        return reply.json?["access_token"]?.string
                    }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(!tokens.contains(nil), "\(agent.log)")
            let shown = pair.other.requests(to: "/token").compactMap { $0.form["assertion"] }
            #expect(shown.count == Set(shown).count)
            #expect(tokens.count <= shown.count)
            let figure = "1,000 gets: \(tokens.count) tokens, \(shown.count) assertions, none of them twice"
            Attachment.record(figure, named: "figure")
        }

        @Test func `an assertion for somebody else brings nothing, and needs nobody`() async throws {
            let pair = try await Self.loggedIn()
            pair.other.registry.signers[0].audiences = ["https://elsewhere.example"]
            let refused = try await pair.scene.agent.tokenctl("refresh", "api")
            #expect(refused.status == 5 && refused.complainsInOneLine, "\(refused)")
            #expect(refused.standardError.contains("for somebody else"), "\(refused)")
            #expect(try await pair.scene.agent.status("work")["state"]?.string == "ready")
            pair.other.registry.signers[0].audiences = [pair.other.issuer]
            #expect(try await pair.scene.agent.reaches("ready", "api"), "\(pair.scene.agent.log)")
        }
    }
}
