// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

struct StandardRefreshTests {
    let endpoint = "https://tokens.example/token"
    let answer = #"{"access_token":"at","token_type":"Bearer","expires_in":60}"#

    @Test(.holds("O13", "O24")) func `a public client names itself in the body and asks for no scope`()
        async throws
    {
        let bench = try Bench(.fixed())
        bench.exchange.expect(endpoint, answer)
        _ = try await bench.refresh("rt+/= &1")
        let sent = try #require(bench.exchange.sent.first)
        #expect(
            sent.form == ["grant_type": "refresh_token", "refresh_token": "rt+/= &1", "client_id": "cli"]
        )
        #expect(sent.headers["authorization"] == nil)
        #expect(sent.headers["accept"] == "application/json")
    }

    /// `Date` of the answer, and how far that is ahead.
    @Test(
        .holds("113"),
        arguments: [
            ("Fri, 15 Jan 2027 08:10:00 GMT", Duration.seconds(600)),
            ("Fri, 15 Jan 2027 07:50:00 GMT", .seconds(-600)), ("yesterday", nil),
        ] as [(String, Duration?)]
    )
    func `a server whose clock is off is told, and its tokens live as long as it says`(
        date: String,
        ahead: Duration?
    ) async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(endpoint, answer, headers: ["date": date])
        let granted = try #require(try await bench.refresh().granted)
        #expect(granted.serverClockAhead == ahead)
        #expect(granted.lifetime == .seconds(60))
        #expect(granted.requestedAt == bench.clock.now)
    }

    @Test(.holds("O17", "O26"))
    func `Basic credentials are form-encoded first, and the body has only the name`() async throws {
        var profile = ServerProfile.fixed(secret: .command(["secret"]))
        profile.client.id = "my client:1"
        let bench = try Bench(profile, commands: ScriptedCommands(prints: "a:b%+ \u{E9}\n"))
        bench.exchange.expect(endpoint, answer)
        _ = try await bench.refresh()
        let sent = try #require(bench.exchange.sent.first)
        let expected = Base64.encoded("my+client%3A1:a%3Ab%25%2B+%C3%A9".utf8)
        #expect(sent.headers["authorization"] == "Basic \(expected)")
        // Some servers look for the client's name nowhere else.
        #expect(sent.formNames == ["grant_type", "refresh_token", "client_id"])
        #expect(sent.form["client_id"] == "my client:1")
    }

    @Test(
        .holds("O16", "O26"),
        arguments: [
            (ClientSecretMethod.automatic, JSONValue.null, true),
            (.automatic, ["client_secret_post"], false),
            (.automatic, ["client_secret_post", "client_secret_basic"], true),
            (.automatic, ["private_key_jwt"], true),
            (.basic, ["client_secret_post"], true), (.post, ["client_secret_basic"], false),
        ] as [(ClientSecretMethod, JSONValue, Bool)]
    )
    func `a secret is shown in exactly one way`(
        method: ClientSecretMethod,
        listed: JSONValue,
        usesBasic: Bool
    ) async throws {
        var profile = TestIssuer.profile()
        profile.client.proof = .secret(.command(["secret"]), method)
        let bench = try Bench(profile, commands: ScriptedCommands(prints: "s3cret"))
        let document = TestIssuer.metadata(["token_endpoint_auth_methods_supported": listed])
        bench.exchange.expect(TestIssuer.discoveryURL, document)
        bench.exchange.expect(TestIssuer.tokenEndpoint, answer)
        #expect(try await bench.refresh(tokenEndpoint: TestIssuer.tokenEndpoint).granted != nil)
        let sent = try #require(bench.exchange.sent.last)
        #expect((sent.headers["authorization"] != nil) == usesBasic)
        #expect((sent.form["client_secret"] == "s3cret") == !usesBasic)
        #expect(sent.form["client_id"] == "cli")
    }

    @Test(
        .holds("O24"),
        arguments: [
            (TokenVariant(scopes: ["b", "a"], audience: nil), ["scope": "a b"]),
            (
                TokenVariant(scopes: [], audience: "https://api.example/v1"),
                ["resource": "https://api.example/v1"]
            ),
            (TokenVariant(scopes: [], audience: "api"), ["audience": "api"]),
            (TokenVariant(scopes: ["a"], audience: "urn:x:y"), ["scope": "a", "resource": "urn:x:y"]),
        ]
    )
    func `a variant asks for its scope and audience`(
        variant: TokenVariant,
        members: [String: String]
    ) async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(endpoint, answer)
        _ = try await bench.refresh(variant: variant)
        let sent = try #require(bench.exchange.sent.first)
        let base = ["grant_type": "refresh_token", "refresh_token": "rt-1", "client_id": "cli"]
        #expect(sent.form == base.merging(members) { $1 })
    }

    /// The scope asked for, what the login was granted, and what the request names.
    @Test(
        arguments: [
            (["api"], ["openid", "offline_access", "api"], "api offline_access"),
            (["api", "offline_access"], ["offline_access", "api"], "api offline_access"),
            (["api"], ["openid", "api"], "api"), (["api"], [], "api"), ([], ["offline_access"], nil),
        ] as [([String], [String], String?)]
    )
    func `a narrower scope keeps offline_access where it was granted`(
        asked: [String],
        granted: [String],
        sent: String?
    ) async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(endpoint, answer)
        _ = try await bench.refresh(
            variant: TokenVariant(scopes: asked, audience: nil),
            grantedScope: granted
        )
        #expect(bench.exchange.sent.first?.form["scope"] == sent)
    }

    @Test(arguments: [("s3cret/+=%", true), ("s3cret", false)])
    func `a refused secret that not every server decodes is pointed at`(
        secret: String,
        isPointedAt: Bool
    ) async throws {
        let bench = try Bench(
            .fixed(secret: .command(["secret"])),
            commands: ScriptedCommands(prints: secret)
        )
        // By Basic, and in the body.
        for _ in 0..<2 { bench.exchange.expect(endpoint, status: 401, #"{"error":"invalid_client"}"#) }
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.kind == .clientRejected)
        #expect(failure.remedy?.text.contains("client_authentication = \"post\"") == true)
        #expect(failure.remedy?.text.contains("some servers misread") == isPointedAt)
        #expect(failure.remedy?.text.contains(secret) != true)
    }

    @Test(.holds("O27")) func `configured resources are each sent`() async throws {
        var profile = ServerProfile.fixed()
        profile.resources = ["https://a.example/", "https://b.example/"]
        let bench = try Bench(profile)
        bench.exchange.expect(endpoint, answer)
        _ = try await bench.refresh()
        #expect(bench.exchange.sent.first?.form["resource"] == "https://a.example/ https://b.example/")
    }

    @Test func `client credentials are asked for again without scope when the scope is refused`() async throws
    {
        let bench = try Bench(.fixed(secret: .command(["secret"])), commands: ScriptedCommands(prints: "s"))
        bench.exchange.expect(endpoint, status: 400, #"{"error":"invalid_scope"}"#)
        bench.exchange.expect(endpoint, answer)
        let request = RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: .withoutLogin,
            variant: .primary
        )
        #expect(await bench.server.refresh(request).granted != nil)
        #expect(bench.exchange.sent.map { $0.form["scope"] } == ["api", nil])
        #expect(bench.commands.commands.count == 1)
    }

    @Test func `a variant whose scope is refused is not asked for without it`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(endpoint, status: 400, #"{"error":"invalid_scope"}"#)
        let outcome = try await bench.refresh(variant: TokenVariant(scopes: ["more"], audience: nil))
        #expect(outcome.failure?.kind == .variantRefused)
    }

    @Test func `a public client refreshes at its endpoint without a look at the metadata`() async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(TestIssuer.tokenEndpoint, answer)
        #expect(try await bench.refresh(tokenEndpoint: TestIssuer.tokenEndpoint).granted != nil)
    }

    @Test(.holds("86", "O25"))
    func `the refresh token goes to the endpoint of its login whatever the metadata says now`()
        async throws
    {
        let bench = try Bench(
            TestIssuer.profile(secret: .command(["x"])),
            commands: ScriptedCommands(prints: "s")
        )
        let document = TestIssuer.metadata(["token_endpoint": "https://elsewhere.example/token"])
        bench.exchange.expect(TestIssuer.discoveryURL, document)
        bench.exchange.expect(TestIssuer.tokenEndpoint, answer)
        #expect(try await bench.refresh(tokenEndpoint: TestIssuer.tokenEndpoint).granted != nil)
    }

    @Test(.holds("86", "O25"), arguments: [404, 405, 410])
    func `an endpoint that is gone is looked for once, on the same host only`(status: Int) async throws {
        let moved = "https://id.example/tenant/v2/token"
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(TestIssuer.tokenEndpoint, status: status, "")
        bench.exchange.expect(
            TestIssuer.discoveryURL,
            TestIssuer.metadata(["token_endpoint": .string(moved)])
        )
        bench.exchange.expect(moved, answer)
        #expect(try await bench.refresh(tokenEndpoint: TestIssuer.tokenEndpoint).granted != nil)

        let stranger = try Bench(TestIssuer.profile())
        stranger.exchange.expect(TestIssuer.tokenEndpoint, status: status, "")
        let document = TestIssuer.metadata(["token_endpoint": "https://elsewhere.example/token"])
        stranger.exchange.expect(TestIssuer.discoveryURL, document)
        let failure = try await stranger.refresh(tokenEndpoint: TestIssuer.tokenEndpoint).failure
        #expect(failure?.kind == .busy)
        #expect(failure?.minimumDelay == .seconds(15))
    }

    @Test(.holds("86", "O25")) func `hand-written endpoints that changed since the login get nothing`()
        async throws
    {
        let bench = try Bench(.fixed())
        let outcome = try await bench.refresh(tokenEndpoint: "https://former.example/token")
        #expect(outcome.failure?.kind == .misconfigured)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test(.holds("86")) func `metadata that is broken today does not stop the session`() async throws {
        let bench = try Bench(
            TestIssuer.profile(secret: .command(["x"])),
            commands: ScriptedCommands(prints: "s")
        )
        bench.exchange.expect(TestIssuer.discoveryURL, status: 404, "")
        bench.exchange.expect(TestIssuer.oauthURL, status: 404, "")
        #expect(try await bench.refresh(tokenEndpoint: TestIssuer.tokenEndpoint).failure?.kind == .busy)
    }

    @Test func `a locked memory sends nothing`() async throws {
        let bench = try Bench(.fixed())
        let token = try bench.secret("rt-1")
        bench.memory.lock()
        let request = RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: .refreshToken(token),
            variant: .primary
        )
        #expect(await bench.server.refresh(request).failure?.kind == .busy)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `a session without refresh token needs the person`() async throws {
        let bench = try Bench(.fixed())
        let request = RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: .impossible,
            variant: .primary
        )
        #expect(await bench.server.refresh(request).failure?.kind == .interactionRequired)
    }

    @Test func `a secret command runs once, and again after the server refused the client`() async throws {
        let bench = try Bench(
            .fixed(secret: .command(["pass", "show", "cli"])),
            commands: ScriptedCommands(prints: "s")
        )
        for _ in 0..<2 {
            bench.exchange.expect(endpoint, answer)
            _ = try await bench.refresh()
        }
        #expect(bench.commands.commands == [["pass", "show", "cli"]])
        bench.exchange.expect(endpoint, status: 401, #"{"error":"invalid_client"}"#)
        #expect(try await bench.refresh().failure?.kind == .clientRejected)
        bench.exchange.expect(endpoint, answer)
        _ = try await bench.refresh()
        #expect(bench.commands.commands.count == 2)
    }

    @Test(arguments: [("", Int32(0)), ("\n", 0), ("secret", 1)])
    func `a secret that cannot be had is tried again`(output: String, status: Int32) async throws {
        let commands = ScriptedCommands(prints: output, status: status)
        let bench = try Bench(.fixed(secret: .command(["x"])), commands: commands)
        #expect(try await bench.refresh().failure?.kind == .helperFailed)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `a secret file is read without its line break`() async throws {
        let file = try TemporaryFile("s3 cret\r\n")
        var profile = ServerProfile.fixed()
        profile.client.proof = .secret(.file(file.path), .post)
        let bench = try Bench(profile)
        bench.exchange.expect(endpoint, answer)
        _ = try await bench.refresh()
        #expect(bench.exchange.sent.first?.form["client_secret"] == "s3 cret")
    }
}
