// SPDX-License-Identifier: MIT

import Crypto
import ServerSettings
import Synchronization
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

struct BrowserLoginTests {
    /// A login at the test issuer, whose answer carries an ID token with the nonce of the request.
    struct Login {
        let bench: Bench
        let issuer: TestIssuer

        init(
            _ profile: ServerProfile = TestIssuer.profile(),
            metadata: [String: JSONValue] = [:],
            sleep: Sleeping? = BrowserLoginTests.forEver
        ) async throws {
            bench = try Bench(profile, sleep: sleep)
            issuer = try await TestIssuer()
            bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata(metadata)))
            bench.exchange.always(TestIssuer.keySetURL, .json(issuer.keySet))
        }

        /// Runs the login; `browse` is what the browser does with the address.
        func run(
            pastes: Bool = false,
            present: PreviousLogin? = nil,
            answers: @escaping @Sendable (LoginInputPrompt) -> String? = { _ in nil },
            browse: @escaping @Sendable (OpenedAddress) async throws -> Void
        ) async -> LoginOutcome {
            let (exchange, issuer) = (bench.exchange, issuer)
            let person = ScriptedPerson(memory: bench.memory, answers: answers) { step in
                guard let address = OpenedAddress(step) else { return }
                // Where the request was pushed, the address has no nonce.
                let nonce = address.parameters["nonce"] ?? exchange.sent.last?.form["nonce"] ?? ""
                if let token = try? issuer.idToken(["nonce": .string(nonce)]) {
                    let body = #"{"access_token":"at","refresh_token":"rt","id_token":"\#(token)"}"#
                    exchange.always(TestIssuer.tokenEndpoint, .json(body))
                }
                try? await browse(address)
            }
            return await bench.server.logIn(
                LoginRequest(flow: .browser, pastesRedirect: pastes, present: present),
                conversation: person
            )
        }

        var redemptions: [ScriptedExchange.Sent] { bench.exchange.posts(to: TestIssuer.tokenEndpoint) }
    }

    /// Longer than any test.
    static let forEver: Sleeping = { _ in try await Task.sleep(for: .seconds(3_600)) }

    @Test(.holds("O53")) func `the code is bound to the key that redeems it`() async throws {
        var profile = TestIssuer.profile()
        profile.bindsTokens = true
        let login = try await Login(profile)
        let named = Mutex<String?>(nil)
        _ = await login.run { address in
            named.withLock { $0 = address.parameters["dpop_jkt"] }
            try await address.redirect("code=c&state=\(address.state)")
        }
        let proof = try #require(ReadProof(login.redemptions.first?.headers["dpop"]))
        let jwk = String(decoding: JSONValue.object(proof.jwk).serialized, as: UTF8.self)
        #expect(named.withLock { $0 } == ReadProof.digest(jwk))
    }

    @Test(.holds("O2", "O3", "O10")) func `a code that comes back with our state becomes tokens`()
        async throws
    {
        let login = try await Login()
        let seen = Mutex<OpenedAddress?>(nil)
        let outcome = await login.run { address in
            seen.withLock { $0 = address }
            Task { try await address.redirect("code=c0de&state=\(address.state)&session_state=x") }
        }
        let grant = try #require(outcome.granted, "\(outcome)")
        #expect(grant.subject == "alice")
        #expect(grant.tokenEndpoint == TestIssuer.tokenEndpoint)
        let address = try #require(seen.withLock { $0 })
        #expect(address.endpoint == "https://id.example/tenant/authorize")
        #expect(Set(address.names).count == address.names.count)
        #expect(address.parameters["response_type"] == "code")
        #expect(address.parameters["scope"] == "openid api")
        #expect(address.parameters["redirect_uri"] == "http://127.0.0.1:\(address.port)/callback")
        let sent = try #require(login.redemptions.first)
        #expect(login.redemptions.count == 1)
        #expect(sent.form["code"] == "c0de")
        #expect(sent.form["redirect_uri"] == address.parameters["redirect_uri"])
        let verifier = try #require(sent.form["code_verifier"])
        #expect((43...128).contains(verifier.utf8.count))
        let challenge = Base64.urlEncoded(SHA256.hash(data: Array(verifier.utf8)))
        #expect(address.parameters["code_challenge"] == challenge)
        #expect(address.parameters["code_challenge_method"] == "S256")
    }

    /// Claims of the ID token, and the name that is shown for the account.
    @Test(
        arguments: [
            ([:], nil), (["email": "alice@id.example"], "alice@id.example"),
            (["preferred_username": "al", "email": "alice@id.example"], "al"),
            (["preferred_username": "", "email": "alice@id.example"], "alice@id.example"),
            (["email": "alice@id.example", "email_verified": .bool(false)], nil),
            (["email": .integer(1)], nil), (["email": "a\u{202E}b"], "a\\u{202e}b"),
        ] as [([String: JSONValue], String?)]
    )
    func `the account is shown by the name in the validated ID token`(
        claims: [String: JSONValue],
        account: String?
    ) async throws {
        let login = try await Login()
        let outcome = await login.run { [exchange = login.bench.exchange, issuer = login.issuer] address in
            let nonce = ["nonce": JSONValue.string(address.parameters["nonce"] ?? "")]
            let token = try issuer.idToken(claims.merging(nonce) { $1 })
            exchange.always(
                TestIssuer.tokenEndpoint,
                .json(#"{"access_token":"at","refresh_token":"rt","id_token":"\#(token)"}"#)
            )
            Task { try await address.redirect("code=c&state=\(address.state)") }
        }
        let grant = try #require(outcome.granted, "\(outcome)")
        #expect(grant.account == account && grant.subject == "alice")
    }

    @Test(.holds("97", "O3")) func `a thousand logins share no verifier, state or nonce`() {
        var seen: Set<String> = []
        for _ in 0..<1_000 {
            let transaction = AuthorizationTransaction(
                redirectURI: "http://127.0.0.1:1/callback",
                issuer: nil,
                namesIssuer: false
            )
            let step = LoginMessage.openURL(transaction.address(at: authorize, profile: TestIssuer.profile()))
            let address = OpenedAddress(step)
            for value in [
                transaction.verifier, transaction.challenge, address?.state, address?.parameters["nonce"],
            ] {
                #expect(value?.utf8.count == 43)
                seen.insert(value ?? "")
            }
        }
        #expect(seen.count == 4_000)
    }

    private let authorize: EndpointURL = {
        guard let url = try? EndpointURL("https://id.example/authorize") else { preconditionFailure("a URL") }
        return url
    }()

    @Test(.holds("O33")) func `the query of the endpoint is kept`() async throws {
        let bench = try Bench(.fixed(), sleep: BrowserLoginTests.forEver)
        bench.exchange.expect("https://tokens.example/token", #"{"access_token":"at"}"#)
        let person = ScriptedPerson(
            memory: bench.memory,
            whenTold: { step in
                guard let address = OpenedAddress(step) else { return }
                #expect(address.parameters["tenant"] == "1")
                #expect(address.parameters["nonce"] == nil)
                Task { try await address.redirect("code=c&state=\(address.state)") }
            }
        )
        let outcome = await bench.server.logIn(LoginRequest(), conversation: person)
        #expect(outcome.granted?.renewal == .impossible)
    }

    @Test(
        .holds("97", "O2", "O3", "O52"),
        arguments: [
            ["code_challenge_methods_supported": ["plain"]], ["code_challenge_methods_supported": []],
            ["response_types_supported": ["token"]],
            ["response_types_supported": ["id_token", "code id_token"]],
            ["authorization_endpoint": .null], ["require_pushed_authorization_requests": true],
            ["require_pushed_authorization_requests": true, "pushed_authorization_request_endpoint": .null],
        ] as [[String: JSONValue]]
    )
    func `a server without the code flow or S256 is refused`(metadata: [String: JSONValue]) async throws {
        let login = try await Login(metadata: metadata)
        let outcome = await login.run { _ in Issue.record("an address was opened") }
        #expect(outcome.failure?.kind == .misconfigured)
    }

    /// `iss` in the response, whether the server announces it, and whether the login goes on (RFC 9207).
    @Test(
        .holds("96", "O7", "O8", "O9"),
        arguments: [
            (String?.none, false, true), (nil, true, false), (TestIssuer.url, false, true),
            (TestIssuer.url, true, true),
            ("https://evil.example", false, false), ("https://evil.example", true, false),
            (TestIssuer.url + "/", true, false),
            ("https://ID.example/tenant", true, false), ("https://id.example", true, false),
            ("", true, false),
            ("", false, false),
            ("https%253A%252F%252Fid.example%252Ftenant", true, false),
        ]
    )
    func `a response of another issuer ends the login without a token request`(
        issuer: String?,
        isAnnounced: Bool,
        goesOn: Bool
    ) async throws {
        let announced: JSONValue = .bool(isAnnounced)
        let login = try await Login(metadata: ["authorization_response_iss_parameter_supported": announced])
        let iss = issuer.map { "&iss=" + FormEncoding.encoded($0) } ?? ""
        let outcome = await login.run { address in
            Task { try await address.redirect("code=c&state=\(address.state)\(iss)") }
        }
        #expect((outcome.granted != nil) == goesOn)
        #expect(login.redemptions.count == (goesOn ? 1 : 0))
        if !goesOn { #expect(outcome.failure?.code == "issuer_mismatch") }
    }

    @Test(.holds("96", "O8")) func `an error response of another issuer is not believed either`() async throws
    {
        let login = try await Login()
        let outcome = await login.run { address in
            Task {
                try await address.redirect(
                    "error=access_denied&state=\(address.state)&iss=https://evil.example"
                )
            }
        }
        #expect(outcome.failure?.code == "issuer_mismatch")
    }

    @Test(
        .holds("O58"),
        arguments: [
            ("access_denied", FailureClass.interactionRequired), ("invalid_scope", .variantRefused),
            ("temporarily_unavailable", .busy), ("unauthorized_client", .clientUnauthorized),
        ]
    )
    func `an error response ends the login with its reason`(code: String, kind: FailureClass) async throws {
        let login = try await Login()
        let outcome = await login.run { address in
            Task {
                try await address.redirect("error=\(code)&error_description=No%1B[31m&state=\(address.state)")
            }
        }
        #expect(outcome.failure?.kind == kind)
        #expect(outcome.failure?.code == code)
        #expect(outcome.failure?.message == "the server rejected the login: \(code): No [31m")
        #expect(login.redemptions.isEmpty)
    }

    @Test(arguments: ["", "code=", "code=a&code=b", "code=a&error=x&error=y", "code=%00", "foo=bar"])
    func `a response with our state that makes no sense ends the login`(query: String) async throws {
        let login = try await Login()
        let outcome = await login.run { address in
            Task { try await address.redirect("state=\(address.state)&\(query)") }
        }
        #expect(outcome.failure?.kind == .misbehaved)
        #expect(login.redemptions.isEmpty)
    }

    @Test(.holds("100", "O60")) func `a code whose redemption was lost is not sent again`() async throws {
        let bench = try Bench(.fixed(), sleep: BrowserLoginTests.forEver)
        bench.exchange.expect("https://tokens.example/token", .failure(.ambiguous("cut")))
        let person = ScriptedPerson(
            memory: bench.memory,
            whenTold: { step in
                guard let address = OpenedAddress(step) else { return }
                Task { try await address.redirect("code=c&state=\(address.state)") }
            }
        )
        let outcome = await bench.server.logIn(LoginRequest(), conversation: person)
        #expect(outcome.failure?.kind == .ambiguous)
        #expect(bench.exchange.sent.count == 1)
    }

    @Test(.holds("98", "O40"), arguments: [JSONValue.null, "another nonce"])
    func `an ID token without our nonce is not believed`(nonce: JSONValue) async throws {
        let login = try await Login()
        let token = try login.issuer.idToken(["nonce": nonce])
        let outcome = await login.run { [exchange = login.bench.exchange] address in
            exchange.always(TestIssuer.tokenEndpoint, .json(#"{"access_token":"at","id_token":"\#(token)"}"#))
            Task { try await address.redirect("code=c&state=\(address.state)") }
        }
        #expect(outcome.failure?.kind == .misbehaved)
    }

    @Test func `a person who never comes back ends the login after five minutes`() async throws {
        let login = try await Login(sleep: nil)
        let outcome = await login.run { _ in }
        #expect(outcome.failure?.kind == .interactionRequired)
        #expect(login.bench.clock.slept == [.seconds(300)])
    }

    @Test(
        arguments: [(nil, true), ("", false), ("consent", false), ("login", false)] as [(String?, Bool)]
    )
    func `a prompt that nobody wrote is named where the login is not finished`(
        prompt: String?,
        isNamed: Bool
    ) async throws {
        var profile = TestIssuer.profile()
        profile.scopes = ["openid", "offline_access"]
        profile.authorization.prompt = prompt
        let login = try await Login(profile, sleep: nil)
        let outcome = await login.run { address in
            #expect(address.parameters["prompt"] == (prompt == "" ? nil : prompt ?? "consent"))
        }
        let remedy = try #require(outcome.failure?.remedy)
        #expect(remedy.text.contains("or prompt = \"\"") == isNamed, "\(remedy)")
    }

    @Test func `a login that the server does not lead back is made with the address that is registered`()
        async throws
    {
        let port = Int(try ClosedPort().number)
        let registered = "http://127.0.0.1:\(port)/callback"
        // The server shows an error for any other address.
        let browse = { @Sendable (address: OpenedAddress) async throws in
            guard address.parameters["redirect_uri"] == registered else { return }
            Task { try await OpenedAddress.redirect("code=c&state=\(address.state)", port: port) }
        }
        let refused = try await Login(sleep: nil).run(browse: browse)
        let words = "redirect_uri to a registered one"
        #expect(refused.failure?.remedy?.text.contains(words) == true, "\(refused)")
        var profile = TestIssuer.profile()
        profile.authorization.redirect = .registered(registered)
        let outcome = try await Login(profile).run(browse: browse)
        #expect(outcome.granted != nil, "\(outcome)")
    }

    @Test(.holds("O12")) func `a login that is given up closes its listener`() async throws {
        let bench = try Bench(.fixed(), sleep: BrowserLoginTests.forEver)
        let seen = Mutex(0)
        let (told, tell) = AsyncStream.makeStream(of: Int.self)
        let person = ScriptedPerson(
            memory: bench.memory,
            whenTold: { step in
                guard let address = OpenedAddress(step) else { return }
                tell.yield(address.port)
            }
        )
        let server = bench.server
        let login = Task { await server.logIn(LoginRequest(), conversation: person) }
        for await port in told {
            seen.withLock { $0 = port }
            break
        }
        login.cancel()
        #expect(await login.value == .cancelled)
        await #expect(throws: (any Error).self) {
            try await RawConnection.open(port: seen.withLock { $0 }, "x")
        }
    }

    @Test func `a taken port is a wrong configuration`() async throws {
        let server = try await TinyServer.start { _ in [] }
        var profile = ServerProfile.fixed()
        profile.authorization.redirect = .port(server.port)
        let bench = try Bench(profile)
        let person = ScriptedPerson(
            memory: bench.memory,
            whenTold: { _ in Issue.record("an address was opened") }
        )
        let outcome = await bench.server.logIn(LoginRequest(), conversation: person)
        #expect(outcome.failure?.kind == .misconfigured)
        #expect(outcome.failure?.message.contains("Address already in use") == true)
        await server.stop()
    }
}
