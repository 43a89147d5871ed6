// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Token requests in the forms of servers that differ from RFC 6749.
struct TokenRequestFormatTests {
    private let endpoint = "https://tokens.example/token"

    private func bench(
        secret: ClientProof = .secret(.command(["x"]), .post),
        _ change: (inout ServerDialect) -> Void
    ) throws -> Bench {
        var profile = ServerProfile.fixed()
        profile.client.proof = secret
        change(&profile.dialect)
        return try Bench(profile, commands: ScriptedCommands(prints: "s%+ &="))
    }

    @Test func `a refresh is a JSON object with the server's names`() async throws {
        let bench = try bench {
            $0.requests.placement = .json
            $0.requests.names = ["client_id": "clientId", "refresh_token": "refreshToken"]
            $0.requests.headers = ["X-App": "a"]
        }
        bench.exchange.expect(endpoint, #"{"access_token":"at"}"#)
        #expect(try await bench.refresh("rt\"é").granted != nil)
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.contentType == "application/json" && sent.headers["X-App"] == "a")
        let members = sent.json?.members.map { "\($0.name)=\($0.value.string ?? "")" }
        #expect(
            members == [
                "grant_type=refresh_token", "refreshToken=rt\"é", "clientId=cli", "client_secret=s%+ &=",
            ]
        )
    }

    /// The place of parameters, and the request as the server gets it.
    @Test(
        arguments: [
            (.get, "GET /token?x=1&kind=r%26 HTTP/1.1", ""),
            (.query, "POST /token?x=1&kind=r%26 HTTP/1.1", ""),
            (.form, "POST /token?x=1 HTTP/1.1", "kind=r%26"),
            (.json, "POST /token?x=1 HTTP/1.1", #"{"kind":"r&"}"#),
        ] as [(TokenRequestFormat.Placement, String, String)],
        [false, true]
    )
    func `parameters are where the server reads them`(
        request: (placement: TokenRequestFormat.Placement, line: String, body: String),
        isGuarded: Bool
    ) async throws {
        let bench = try await ProxyBench(isGuarded: isGuarded)
        var outgoing = try bench.request(.direct)
        outgoing.form = FormBody([("grant", "r&")])
        outgoing.format.placement = request.placement
        outgoing.format.names = ["grant": "kind"]
        outgoing.format.headers = ["X-App": "a"]
        #expect(try await bench.send(outgoing).get().status == 200)
        let sent = try #require(bench.server.requests.first)
        #expect(sent.hasPrefix(request.line + "\r\n") && sent.hasSuffix("\r\n\r\n" + request.body))
        #expect(sent.bytewise.lowercased.contains("\r\nx-app: a\r\n"))
        #expect(sent.bytewise.lowercased.contains("content-type") == !request.body.isEmpty)
        await bench.end()
    }

    /// A request that may have reached the server is not lost without a trace.
    @Test func `a GET whose response is lost is ambiguous`() async throws {
        let server = try await TinyServer.start { _ in [.close] }
        let transport = HTTPTransport(
            eventLoop: Wire.eventLoop,
            door: nil,
            proxies: ProxyRoutes(ProxyVariables { _ in nil }, commands: nil)
        )
        var request = OutgoingRequest(
            url: try EndpointURL("http://127.0.0.1:\(server.port)/t"),
            form: FormBody([("a", "b")]),
            trust: ServerTrust()
        )
        request.format.placement = .get
        guard case .failure(.ambiguous) = await transport.outcome(of: request) else {
            Issue.record("the response was lost after the request was sent")
            return
        }
        await transport.shutDown()
        await server.stop()
    }

    @Test(
        arguments: [
            (ClientProof.basicID, "Basic " + Base64.encoded("cli:".utf8)),
            (.secret(.command(["x"]), .basicSecret), "Basic " + Base64.encoded("s%25%2B+%26%3D:".utf8)),
        ]
    )
    func `Basic credentials may be one half alone`(proof: ClientProof, header: String) async throws {
        let bench = try bench(secret: proof) { _ in }
        bench.exchange.expect(endpoint, #"{"access_token":"at"}"#)
        #expect(try await bench.refresh().granted != nil)
        #expect(bench.exchange.sent.first?.headers["authorization"] == header)
        #expect(bench.exchange.sent.first?.form["client_secret"] == nil)
    }

    @Test func `a refresh goes to its own endpoint, and a code to the other`() async throws {
        let bench = try bench { $0.refreshEndpoint = "https://tokens.example/refresh" }
        bench.exchange.expect("https://tokens.example/refresh", #"{"access_token":"at"}"#)
        #expect(try await bench.refresh(tokenEndpoint: endpoint).granted != nil)
        #expect(bench.exchange.sent.map(\.url) == ["https://tokens.example/refresh"])
    }

    @Test func `an endpoint for refreshes that is missing gets the refresh token once`() async throws {
        let bench = try bench { $0.refreshEndpoint = "https://tokens.example/refresh" }
        bench.exchange.expect("https://tokens.example/refresh", status: 404, "")
        #expect(try await bench.refresh(tokenEndpoint: endpoint).failure?.kind == .busy)
        #expect(bench.exchange.sent.count == 1)
    }

    @Test func `the client's own grant does not go to the endpoint for refreshes`() async throws {
        var profile = ServerProfile.fixed(scopes: [])
        profile.flow = .clientCredentials
        profile.client.proof = .secret(.command(["x"]), .post)
        profile.dialect.refreshEndpoint = "https://tokens.example/refresh"
        let bench = try Bench(profile, commands: ScriptedCommands(prints: "s"))
        bench.exchange.expect(endpoint, #"{"access_token":"a"}"#)
        let outcome = await bench.server.logIn(
            LoginRequest(flow: .clientCredentials),
            conversation: ScriptedPerson(memory: bench.memory)
        )
        #expect(outcome.granted?.tokenEndpoint == endpoint)
    }

    @Test func `an imported token is prolonged, not exchanged again`() async throws {
        let parameters = ["token": "{access_token}"]
        let bench = try bench {
            $0.prolonging = TokenProlonging(
                TokenProlonging.Request(
                    endpoint: "https://graph.example/refresh",
                    usesGet: true,
                    parameters: parameters
                ),
                first: TokenProlonging.Request(
                    endpoint: "https://graph.example/long",
                    usesGet: true,
                    parameters: parameters
                )
            )
            $0.responses.prolongsAccessToken = true
        }
        bench.exchange.expect("https://graph.example/refresh", #"{"access_token":"at-2"}"#)
        let outcome = await bench.server.logIn(
            LoginRequest(flow: .import, secret: try bench.secret("at-1")),
            conversation: ScriptedPerson(memory: bench.memory)
        )
        #expect(outcome.granted?.tokenEndpoint == "https://graph.example/refresh", "\(outcome)")
    }

    @Test func `a proof of possession names the method of the request`() async throws {
        var profile = ServerProfile.fixed()
        profile.bindsTokens = true
        profile.dialect.requests.placement = .get
        let bench = try Bench(profile)
        bench.exchange.expect(endpoint, #"{"access_token":"at","token_type":"DPoP"}"#)
        let key = try ProofKey.make(in: bench.memory)
        let request = RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: .refreshToken(try bench.secret("rt")),
            variant: .primary,
            proofKey: key
        )
        #expect(await bench.server.refresh(request).granted != nil)
        let proof = try #require(ReadProof(bench.exchange.sent.first?.headers["dpop"]))
        #expect(proof.claims["htm"] == "GET")
    }

    @Test func `a refresh token does not go to another server than that of the login`() async throws {
        let bench = try bench { $0.refreshEndpoint = "https://evil.example/refresh" }
        let failure = try await bench.refresh(tokenEndpoint: endpoint).failure
        #expect(failure?.kind == .misconfigured && failure?.needsLogin == true)
        #expect(failure?.message.contains("refresh_endpoint differs") == true)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `a token is prolonged by itself`() async throws {
        let prolonging = TokenProlonging(
            TokenProlonging.Request(
                endpoint: "https://graph.example/refresh",
                usesGet: true,
                parameters: ["grant_type": "prolong", "token": "{access_token}", "app": "{client_id}"]
            )
        )
        let bench = try bench {
            $0.prolonging = prolonging
            $0.responses.prolongsAccessToken = true
        }
        bench.exchange.expect(
            "https://graph.example/refresh",
            #"{"access_token":"at-2","expires_in":5184000}"#
        )
        let granted = try #require(
            try await bench.refresh("at-1", tokenEndpoint: "https://graph.example/first").granted
        )
        #expect(try bench.text(granted.accessToken) == "at-2" && bench.text(granted.refreshToken) == "at-2")
        #expect(granted.refreshLifetime == RefreshLifetime(.seconds(5_184_000)))
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.method == "GET" && sent.formNames == ["app", "grant_type", "token"])
        #expect(sent.form == ["app": "cli", "grant_type": "prolong", "token": "at-1"])
        let other = TokenVariant(scopes: ["mail"], audience: nil)
        #expect(try await bench.refresh(variant: other).failure?.kind == .variantRefused)
    }

    @Test func `a short token of a login is exchanged once`() async throws {
        var profile = ServerProfile.fixed(scopes: [])
        profile.client.proof = .secret(.command(["x"]), .post)
        profile.authorization.redirect = .registered("https://app.example/callback")
        profile.dialect.responses.prolongsAccessToken = true
        profile.dialect.responses.keptMembers = ["user_id"]
        let parameters = ["secret": "{client_secret}", "token": "{access_token}"]
        profile.dialect.prolonging = TokenProlonging(
            TokenProlonging.Request(
                endpoint: "https://graph.example/refresh",
                usesGet: true,
                parameters: parameters
            ),
            first: TokenProlonging.Request(
                endpoint: "https://graph.example/long",
                usesGet: false,
                parameters: parameters
            )
        )
        let bench = try Bench(profile, commands: ScriptedCommands(prints: "s"))
        bench.exchange.expect(endpoint, #"{"access_token":"short","expires_in":3600,"user_id":7}"#)
        bench.exchange.expect("https://graph.example/long", #"{"access_token":"long","expires_in":5184000}"#)
        let grant = try #require(await LoginByPaste(bench).run(["code": "c"]).granted)
        #expect(
            try bench.text(grant.tokens.accessToken) == "long" && grant.tokens.keptMembers == ["user_id": "7"]
        )
        #expect(grant.tokenEndpoint == "https://graph.example/refresh")
        guard case .refreshToken(let renewal) = grant.renewal else {
            Issue.record("the login cannot be prolonged")
            return
        }
        #expect(try bench.text(renewal) == "long")
        #expect(bench.exchange.sent.last?.form == ["secret": "s", "token": "short"])
    }

    @Test func `the authorization request and its redirect have the server's names`() async throws {
        var profile = ServerProfile.fixed(scopes: ["read"])
        profile.authorization.redirect = .registered("https://app.example/callback")
        profile.dialect.redirects.names = ["client_id": "app", "scope": "rights"]
        profile.dialect.redirects.redirectName = "My-RuName"
        profile.dialect.redirects.code = "authCode"
        profile.dialect.redirects.keptParameters = ["realmId", "missing"]
        profile.dialect.tokenParameters = ["state": "{state}"]
        let bench = try Bench(profile)
        bench.exchange.expect(endpoint, #"{"access_token":"at"}"#)
        let login = LoginByPaste(bench)
        let grant = try #require(
            await login.run(["authCode": "c", "code": "other", "realmId": "12\u{1B}"]).granted
        )
        #expect(grant.tokens.keptMembers == ["realmId": "12"])
        let address = try #require(login.address)
        #expect(address.parameters["app"] == "cli" && address.parameters["rights"] == "read")
        #expect(address.parameters["client_id"] == nil && address.parameters["redirect_uri"] == "My-RuName")
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.form["code"] == "c" && sent.form["redirect_uri"] == "My-RuName")
        #expect(sent.form["client_id"] == "cli")
        #expect(sent.form["state"] == address.parameters["state"])
    }

    // MARK: Revocation

    private func revoke(_ format: RevocationFormat) async throws -> (ScriptedExchange.Sent, RevocationOutcome)
    {
        let bench = try bench { $0.revocation = format }
        let address = format.address(of: "at/1", client: "cli")
        bench.exchange.expect(address, .json("", status: 204))
        let outcome = await bench.server.revoke(
            RevocationRequest(
                refreshToken: try bench.secret("rt"),
                accessToken: try bench.secret("at/1", .accessToken)
            )
        )
        return (try #require(bench.exchange.sent.first), outcome)
    }

    private func outcome(
        of format: RevocationFormat,
        _ body: String,
        status: Int,
        proof: ClientProof = .secret(.command(["x"]), .post)
    ) async throws -> (RevocationOutcome, ScriptedExchange.Sent?) {
        let bench = try bench(secret: proof) {
            $0.revocation = format
            $0.responses.success = JSONPath(["ok"]).map { TokenResponseFormat.SuccessMark($0, "true") }
        }
        bench.exchange.always(format.address(of: "at", client: "cli"), .json(body, status: status))
        let outcome = await bench.server.revoke(
            RevocationRequest(refreshToken: nil, accessToken: try bench.secret("at", .accessToken))
        )
        return (outcome, bench.exchange.sent.first)
    }

    @Test func `only what says so is a revocation`() async throws {
        var format = RevocationFormat(
            endpoint: "https://tokens.example/revoke",
            method: .post,
            token: .accessToken,
            placement: .form,
            name: "token"
        )
        for (body, status) in [
            (#"{"ok":false,"error":"fatal_error"}"#, 200), ("", 404), (#"{"ok":true}"#, 500),
        ] {
            let (outcome, _) = try await outcome(of: format, body, status: status)
            #expect(outcome != .revoked, "\(status) \(body)")
        }
        for body in [#"{"ok":true}"#, #"{"ok":false,"error":"token_revoked"}"#, ""] {
            let (outcome, _) = try await outcome(of: format, body, status: 200)
            #expect(outcome == .revoked, "\(body)")
        }
        format.method = .delete
        #expect(try await outcome(of: format, "", status: 404).0 == .revoked)
        #expect(try await outcome(of: format, "", status: 404, proof: .none).0 != .revoked)
    }

    /// With assertions, a secret signs and is not sent.
    @Test func `a secret that is not to be sent is not sent at a logout either`() async throws {
        let format = RevocationFormat(
            endpoint: "https://tokens.example/revoke",
            method: .post,
            token: .accessToken,
            placement: .json,
            name: "token"
        )
        let proof = ClientProof.secretAssertion(.command(["x"]), .endpoint)
        let (_, sent) = try await outcome(of: format, "", status: 200, proof: proof)
        #expect(sent != nil && sent?.headers["authorization"] == nil)
    }

    @Test func `a revocation has the server's own form`() async throws {
        let basic = "Basic " + Base64.encoded("cli:s%25%2B+%26%3D".utf8)
        var format = RevocationFormat(
            endpoint: "https://tokens.example/apps/{client_id}/grant",
            method: .delete,
            token: .accessToken,
            placement: .json,
            name: "access_token"
        )
        var (sent, outcome) = try await revoke(format)
        #expect(outcome == .revoked && sent.method == "DELETE" && sent.headers["authorization"] == basic)
        #expect(sent.json?.members.count == 1 && sent.json?["access_token"]?.string == "at/1")
        format.placement = .bearer
        format.method = .post
        (sent, outcome) = try await revoke(format)
        #expect(outcome == .revoked && sent.method == "POST" && sent.form.isEmpty)
        #expect(sent.headers["authorization"] == "Bearer at/1")
        format.placement = .form
        format.token = .refreshToken
        (sent, outcome) = try await revoke(format)
        #expect(outcome == .revoked && sent.form == ["access_token": "rt"])
        format.placement = .path
        format.token = .accessToken
        format.endpoint = "https://tokens.example/tokens/{token}"
        (sent, outcome) = try await revoke(format)
        #expect(outcome == .revoked && sent.url == "https://tokens.example/tokens/at%2F1")
    }

    @Test func `a client proves itself at a logout as the server wants it`() async throws {
        var format = RevocationFormat(
            endpoint: "https://tokens.example/revoke",
            method: .post,
            token: .accessToken,
            placement: .json,
            name: "access_token"
        )
        format.parameters = ["client_id": "{client_id}"]
        format.authorization = "Client {client_secret}"
        var (sent, outcome) = try await revoke(format)
        #expect(outcome == .revoked && sent.headers["authorization"] == "Client s%+ &=")
        #expect(sent.contentType == "application/json" && sent.json?.members.count == 2)
        #expect(
            sent.json?["access_token"]?.string == "at/1" && sent.json?["client_id"]?.string == "cli"
        )
        format.placement = .form
        format.authorization = nil
        format.name = "token"
        format.parameters = ["client_key": "{client_id}", "client_secret": "{client_secret}"]
        (sent, outcome) = try await revoke(format)
        #expect(outcome == .revoked && sent.headers["authorization"] == nil)
        #expect(sent.form == ["client_key": "cli", "client_secret": "s%+ &=", "token": "at/1"])
    }

    /// Nothing is sent in which the secret is missing, or that shows one which only signs.
    @Test(arguments: [ClientProof.none, .secretAssertion(.command(["x"]), .endpoint)])
    func `a logout that requires a secret is not tried without one`(proof: ClientProof) async throws {
        var format = RevocationFormat(
            endpoint: "https://tokens.example/revoke",
            method: .post,
            token: .accessToken,
            placement: .form,
            name: "token"
        )
        format.parameters = ["client_secret": "{client_secret}"]
        let (outcome, sent) = try await outcome(of: format, "", status: 200, proof: proof)
        guard case .unsupported = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(sent == nil)
    }
}
