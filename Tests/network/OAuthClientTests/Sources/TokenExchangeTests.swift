// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

/// Token exchange (RFC 8693).
struct TokenExchangeTests {
    private static let endpoint = "https://tokens.example/token"
    private static let answer = """
        {"access_token":"at-2","issued_token_type":"urn:ietf:params:oauth:token-type:access_token",\
        "token_type":"Bearer","expires_in":60,"refresh_token":"rt-2"}
        """

    private static func profile(
        _ subject: TokenExchange.Subject = .session,
        requested: String? = nil,
        secret: SecretSource? = nil
    ) -> ServerProfile {
        var profile = ServerProfile.fixed(secret: secret)
        profile.flow = .tokenExchange
        profile.grant = .exchange(
            TokenExchange(
                subject: subject,
                subjectTokenType: TokenType.accessToken.uri,
                requestedTokenType: requested
            )
        )
        return profile
    }

    private static func request(_ variant: TokenVariant = .primary) -> RefreshRequest {
        RefreshRequest(attempt: AttemptNumber(rawValue: 1), renewal: .withoutLogin, variant: variant)
    }

    private static func exchange(
        _ bench: Bench,
        actor: String? = nil,
        variant: TokenVariant = .primary
    ) async throws -> RefreshOutcome {
        var request = request(variant)
        request.sources.subject = try bench.secret("at-1", .accessToken)
        request.sources.actor = try actor.map { try bench.secret($0, .accessToken) }
        return await bench.server.refresh(request)
    }

    @Test func `without a client, the token to exchange is all that is shown`() async throws {
        var profile = Self.profile()
        profile.client = ClientIdentity("")
        let bench = try Bench(profile)
        bench.exchange.expect(Self.endpoint, Self.answer)
        #expect(try await Self.exchange(bench).granted != nil)
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.headers["authorization"] == nil && sent.form["subject_token"] == "at-1")
        #expect(!sent.formNames.contains { $0.hasPrefix("client_") })
    }

    @Test func `the source's token is exchanged, and a refresh token of the answer is left alone`()
        async throws
    {
        var profile = Self.profile(requested: TokenType.jwt.uri)
        profile.audience = "backend"
        profile.resources = ["https://api.example/"]
        let bench = try Bench(profile)
        bench.exchange.expect(Self.endpoint, Self.answer)
        let granted = try #require(try await Self.exchange(bench, actor: "at-9").granted)
        #expect(try bench.text(granted.accessToken) == "at-2")
        #expect(granted.refreshToken == nil)
        #expect(granted.lifetime == .seconds(60))
        #expect(granted.origin == IssuanceContext(tokenEndpoint: Self.endpoint))
        #expect(granted.scope == ["api"])
        #expect(
            bench.exchange.sent.first?.form == [
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "client_id": "cli",
                "subject_token": "at-1",
                "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
                "actor_token": "at-9",
                "actor_token_type": "urn:ietf:params:oauth:token-type:access_token",
                "requested_token_type": "urn:ietf:params:oauth:token-type:jwt",
                "scope": "api", "audience": "backend", "resource": "https://api.example/",
            ]
        )
    }

    @Test func `a client proves itself at an exchange as everywhere`() async throws {
        let profile = Self.profile(secret: .command(["secret"]))
        let bench = try Bench(profile, commands: ScriptedCommands(prints: "s3cret"))
        bench.exchange.expect(Self.endpoint, Self.answer)
        #expect(try await Self.exchange(bench).granted != nil)
        #expect(bench.exchange.sent.first?.headers["authorization"]?.hasPrefix("Basic ") == true)
    }

    @Test func `another scope or audience is another exchange`() async throws {
        let bench = try Bench(Self.profile())
        bench.exchange.expect(Self.endpoint, Self.answer)
        let variant = TokenVariant(scopes: ["read"], audience: "https://other.example/")
        #expect(try await Self.exchange(bench, variant: variant).granted != nil)
        let form = bench.exchange.sent.first?.form
        #expect(form?["scope"] == "read" && form?["resource"] == "https://other.example/")
        #expect(form?["subject_token"] == "at-1")
    }

    @Test(.holds("186")) func `a refused scope is not left out, which would bring a token that can do more`()
        async throws
    {
        let bench = try Bench(Self.profile())
        bench.exchange.expect(Self.endpoint, status: 400, #"{"error":"invalid_scope"}"#)
        #expect(try await Self.exchange(bench).failure?.kind == .variantRefused)
        #expect(bench.exchange.sent.count == 1)
    }

    /// The status and error code of a response, and the failure class (RFC 8693 §2.2.2).
    @Test(
        arguments: [
            (400, "invalid_request", FailureClass.unexplained), (400, "invalid_target", .variantRefused),
            (400, "invalid_grant", .grantDead), (401, "invalid_client", .clientRejected),
            (400, "unsupported_grant_type", .misconfigured), (503, "temporarily_unavailable", .busy),
        ] as [(Int, String, FailureClass)]
    )
    func `refusals mean what they mean elsewhere`(
        status: Int,
        code: String,
        kind: FailureClass
    ) async throws {
        let bench = try Bench(Self.profile())
        bench.exchange.expect(Self.endpoint, status: status, #"{"error":"\#(code)"}"#)
        #expect(try await Self.exchange(bench).failure?.kind == kind)
    }

    @Test(.holds("O51")) func `a token that is no access token is taken`() async throws {
        let bench = try Bench(Self.profile())
        bench.exchange.expect(
            Self.endpoint,
            #"{"access_token":"x.y.z","token_type":"N_A","expires_in":60}"#
        )
        let granted = try #require(try await Self.exchange(bench).granted)
        #expect(granted.tokenType == "Bearer")
    }

    @Test(.holds("O51")) func `a refresh token in place of the token is given to nobody`() async throws {
        let bench = try Bench(Self.profile())
        bench.exchange.expect(
            Self.endpoint,
            """
            {"access_token":"rt-9","token_type":"N_A",\
            "issued_token_type":"urn:ietf:params:oauth:token-type:refresh_token"}
            """
        )
        let failure = try #require(try await Self.exchange(bench).failure)
        #expect(failure.kind == .misconfigured)
        #expect(failure.remedy == .set("requested_token_type = \"access_token\""))
    }

    @Test func `tokens of another type are not taken where nothing is exchanged`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(Self.endpoint, #"{"access_token":"x","token_type":"N_A"}"#)
        #expect(try await bench.refresh().failure?.kind == .misconfigured)
    }

    @Test func `the subject's token is not shown when a server repeats it`() async throws {
        let bench = try Bench(Self.profile())
        bench.exchange.expect(
            Self.endpoint,
            status: 400,
            #"{"error":"invalid_request","error_description":"subject-token-one is not good"}"#
        )
        let server = RedactingServer(
            server: bench.server,
            names: ExchangeSecrets.ParameterNames(bench.server.profile.kind),
            memory: bench.memory
        )
        var request = Self.request()
        request.sources.subject = try bench.secret("subject-token-one", .accessToken)
        let outcome = await server.refresh(request)
        let failure = try #require(outcome.failure)
        #expect(failure.message.contains("is not good"))
        #expect(!failure.message.contains("subject-token-one"))
    }

    // MARK: Tokens that no session has

    @Test func `a file is read for each exchange`() async throws {
        let files = try TemporaryDirectory()
        let path = try files.write("at-1\n", to: "token", mode: 0o600)
        let bench = try Bench(Self.profile(.file(path)))
        for token in ["at-1", "at-7"] {
            try files.write(token + "\n", to: "token", mode: 0o600)
            bench.exchange.expect(Self.endpoint, Self.answer)
            #expect(await bench.server.refresh(Self.request()).granted != nil)
            #expect(bench.exchange.sent.last?.form["subject_token"] == token)
        }
    }

    @Test func `a file that will not do says what to change, and nothing is sent`() async throws {
        let files = try TemporaryDirectory()
        let rows: [(String, String)] = [
            (files.path("absent"), "No such file"), (files.path("."), "is a directory"),
            (try files.write("at", to: "wide", mode: 0o622), "is writable by other users"),
            (try files.write("\n", to: "empty", mode: 0o600), "is empty"),
            (try files.write("a\u{1}b", to: "binary", mode: 0o600), "contains something other"),
        ]
        for (path, words) in rows {
            let bench = try Bench(Self.profile(.file(path)))
            let outcome = await bench.server.refresh(Self.request())
            let failure = try #require(outcome.failure)
            #expect(failure.kind == .helperFailed)
            #expect(failure.message.contains(words), "\(failure.message)")
            #expect(failure.message.contains("subject_token_file"))
        }
    }

    @Test func `a program prints the token to exchange`() async throws {
        let commands = ScriptedCommands(prints: #"{"accessToken":"at-5"}"#)
        let bench = try Bench(Self.profile(.command(["print"])), commands: commands)
        bench.exchange.expect(Self.endpoint, Self.answer)
        #expect(await bench.server.refresh(Self.request()).granted != nil)
        #expect(bench.exchange.sent.first?.form["subject_token"] == "at-5")
        #expect(commands.commands == [["print"]])
    }

    @Test func `a program that wants a login is a source that has ended`() async throws {
        let commands = ScriptedCommands(prints: "", status: 4)
        let bench = try Bench(Self.profile(.command(["print"])), commands: commands)
        #expect(await bench.server.refresh(Self.request()).failure?.kind == .sourceEnded)
    }

    /// The output and exit status of the program.
    @Test(arguments: [("at-5", Int32(3)), ("", 0), ("no token", 0)])
    func `a program that fails is a source without a token, and nothing is sent`(
        output: String,
        status: Int32
    ) async throws {
        let commands = ScriptedCommands(prints: output, status: status)
        let bench = try Bench(Self.profile(.command(["print"])), commands: commands)
        let failure = try #require(await bench.server.refresh(Self.request()).failure)
        #expect(failure.kind == .helperFailed)
        #expect(failure.message.hasPrefix("subject_token_command: print"), "\(failure)")
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test(arguments: ["access_token", "urn:example:type", "saml2"])
    func `a type is a word or a URI`(text: String) throws {
        let uri = text.contains(":") ? text : "urn:ietf:params:oauth:token-type:\(text)"
        #expect(try #require(TokenType(written: text)).uri == uri)
    }

    @Test(arguments: ["two words", "caf\u{E9}", "urn:a b", ":x", "urn:a#b"])
    func `anything else is no type`(text: String) {
        #expect(TokenType(written: text) == nil)
    }
}
