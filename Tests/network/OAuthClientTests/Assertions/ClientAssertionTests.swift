// SPDX-License-Identifier: MIT

import Crypto
import NIOSSL
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// A client that signs assertions (RFC 7523 §2.2) in place of showing a secret.
struct ClientAssertionTests {
    static let token = "https://tokens.example/token"
    static let answer = #"{"access_token":"at","refresh_token":"rt"}"#

    /// A server with endpoints by hand, and a client whose key is `key`.
    static func profile(
        _ key: TemporaryFile,
        identifier: String? = nil,
        audience: AssertionAudience = .endpoint
    ) -> ServerProfile {
        var profile = ServerProfile.fixed()
        profile.client.proof = .keyAssertion(
            AssertionKey(.file(key.path), identifier: identifier),
            audience
        )
        return profile
    }

    static func assertions(_ bench: Bench) -> [JWTParts] {
        bench.exchange.sent.compactMap { $0.form["client_assertion"].flatMap { JWTParts($0) } }
    }

    @Test(.holds("O57")) func `a refresh shows a signed assertion and no secret`() async throws {
        let key = try TemporaryFile(TestKeys.ellipticJWK)
        let bench = try Bench(Self.profile(key))
        bench.exchange.expect(Self.token, Self.answer)
        #expect(try await bench.refresh().granted != nil)
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.headers["authorization"] == nil && sent.form["client_secret"] == nil)
        #expect(sent.form["client_id"] == "cli" && sent.form["refresh_token"] == "rt-1")
        #expect(
            sent.form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        )
        let assertion = try #require(Self.assertions(bench).first)
        #expect(assertion.header == ["alg": "ES256", "typ": "JWT"])
        #expect(SignatureAlgorithm.es256.verify(assertion, with: .rfc7515Curve))
        let now = bench.clock.wallTime.secondsSince1970
        #expect(assertion.claims["iss"] == "cli" && assertion.claims["sub"] == "cli")
        #expect(assertion.claims["aud"] == .string(Self.token))
        #expect(assertion.claims["iat"] == .integer(now) && assertion.claims["exp"] == .integer(now + 60))
        #expect(assertion.claims["jti"]?.string?.isEmpty == false)
    }

    @Test(.holds("O57")) func `an assertion names its key's certificate, and has the claims of the settings`()
        async throws
    {
        let files = (try TemporaryFile(Certificates.good), try TemporaryFile(Certificates.goodKey))
        var profile = ServerProfile.fixed()
        func set(certificate: String) {
            let key = AssertionKey(
                .file(files.1.path),
                certificate: certificate,
                claims: ["iss": "app.example", "tenant": "7"]
            )
            profile.client.proof = .keyAssertion(key, .endpoint)
        }
        set(certificate: files.0.path)
        let bench = try Bench(profile)
        bench.exchange.expect(Self.token, Self.answer)
        #expect(try await bench.refresh().granted != nil)
        let assertion = try #require(Self.assertions(bench).first)
        let certificate = try #require(
            try NIOSSLCertificate.fromPEMBytes(Array(Certificates.good.utf8)).first
        )
        let thumbprint = Base64.urlEncoded(SHA256.hash(data: try certificate.toDERBytes()))
        #expect(assertion.header["x5t#S256"] == .string(thumbprint))
        #expect(assertion.claims["iss"] == "app.example" && assertion.claims["sub"] == "cli")
        #expect(assertion.claims["tenant"] == "7" && assertion.claims["aud"] == .string(Self.token))
        // Of another key's certificate nothing is signed.
        let other = try TemporaryFile(Certificates.expired)
        set(certificate: other.path)
        let wrong = try Bench(profile)
        #expect(try await wrong.refresh().failure?.kind == .helperFailed)
        #expect(wrong.exchange.sent.isEmpty)
    }

    @Test func `a key is named by the configuration, else by its JWK`() async throws {
        let named = TestKeys.edwardsJWK.replacing("\"OKP\"", with: "\"OKP\",\"kid\":\"own\"")
        for (identifier, shown) in [(nil, "own"), ("other", "other")] as [(String?, String)] {
            let key = try TemporaryFile(named)
            let bench = try Bench(Self.profile(key, identifier: identifier))
            bench.exchange.expect(Self.token, Self.answer)
            _ = try await bench.refresh()
            #expect(Self.assertions(bench).first?.header["kid"] == .string(shown))
        }
    }

    @Test(.holds("O57")) func `the audience is one string, as configured`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        for (audience, shown) in [
            (AssertionAudience.endpoint, TestIssuer.tokenEndpoint), (.issuer, TestIssuer.url),
            (.other("urn:id"), "urn:id"),
        ] {
            var profile = TestIssuer.profile()
            profile.client.proof = .keyAssertion(AssertionKey(.file(key.path)), audience)
            let bench = try Bench(profile)
            bench.exchange.expect(TestIssuer.discoveryURL, TestIssuer.metadata())
            bench.exchange.expect(TestIssuer.tokenEndpoint, Self.answer)
            _ = try await bench.refresh()
            #expect(Self.assertions(bench).first?.claims["aud"] == .string(shown))
        }
    }

    @Test func `a clock that is wrong costs one request, and another day is not believed`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        // It is 8 o'clock here.
        for (date, offset) in [
            ("Fri, 15 Jan 2027 08:10:00 GMT", 600), ("Fri, 15 Jan 2027 07:50:00 GMT", -600),
            ("Fri, 15 Jan 2027 08:00:10 GMT", nil), ("Mon, 25 Jan 2027 08:00:00 GMT", nil),
        ] as [(String, Int64?)] {
            let bench = try Bench(Self.profile(key))
            let refusal = #"{"error":"invalid_client"}"#
            bench.exchange.expect(Self.token, status: 401, refusal, headers: ["date": date])
            if offset != nil { bench.exchange.expect(Self.token, Self.answer) }
            #expect(try await (bench.refresh().granted != nil) == (offset != nil))
            let times = Self.assertions(bench).compactMap { $0.claims["iat"]?.integer }
            let now = bench.clock.wallTime.secondsSince1970
            #expect(times == [now] + (offset.map { [now + $0] } ?? []))
        }
    }

    @Test func `a clock that is wrong costs one request at every endpoint`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        let (refusal, date) = (#"{"error":"invalid_client"}"#, ["date": "Fri, 15 Jan 2027 08:10:00 GMT"])
        let times = { (bench: Bench, url: String) -> [Int64] in
            bench.exchange.posts(to: url).compactMap {
                $0.form["client_assertion"].flatMap { JWTParts($0) }?.claims["iat"]?.integer
            }
        }
        let bench = try Bench(Self.profile(key))
        let now = bench.clock.wallTime.secondsSince1970
        let (device, revocation) = ("https://tokens.example/device", "https://tokens.example/revoke")
        bench.exchange.expect(device, status: 401, refusal, headers: date)
        bench.exchange.expect(device, DeviceLoginTests.start())
        bench.exchange.expect(Self.token, Self.answer)
        let person = ScriptedPerson(memory: bench.memory)
        #expect(await bench.server.logIn(LoginRequest(flow: .device), conversation: person).granted != nil)
        #expect(times(bench, device) == [now, now + 600])
        let later = bench.clock.wallTime.secondsSince1970
        bench.exchange.expect(revocation, status: 401, refusal, headers: date)
        bench.exchange.expect(revocation, "")
        let token = try bench.secret("rt-1")
        let revoked = await bench.server.revoke(RevocationRequest(refreshToken: token, accessToken: nil))
        #expect(revoked == .revoked && times(bench, revocation) == [later, now + 600])
        #expect(bench.exchange.posts(to: revocation).allSatisfy { $0.form["token"] == "rt-1" })
        var profile = TestIssuer.profile()
        profile.client.proof = .keyAssertion(AssertionKey(.file(key.path)), .endpoint)
        let login = try await BrowserLoginTests.Login(profile, metadata: PushedAuthorizationTests.metadata)
        let pushing = PushedAuthorizationTests.endpoint
        for _ in 0..<2 { login.bench.exchange.expect(pushing, status: 401, refusal, headers: date) }
        #expect(await login.run { _ in }.failure?.code == "invalid_client")
        #expect(times(login.bench, pushing) == [now, now + 600])
    }

    @Test(.holds("O57")) func `every endpoint gets an assertion of its own`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        let bench = try Bench(Self.profile(key))
        bench.exchange.expect("https://tokens.example/device", DeviceLoginTests.start())
        bench.exchange.expect(Self.token, status: 400, #"{"error":"authorization_pending"}"#)
        bench.exchange.expect(Self.token, Self.answer)
        let person = ScriptedPerson(memory: bench.memory)
        let outcome = await bench.server.logIn(LoginRequest(flow: .device), conversation: person)
        let grant = try #require(outcome.granted)
        bench.exchange.always("https://tokens.example/revoke", .json(""))
        let request = RevocationRequest(
            refreshToken: grant.tokens.refreshToken,
            accessToken: grant.tokens.accessToken
        )
        #expect(await bench.server.revoke(request) == .revoked)
        let assertions = Self.assertions(bench)
        #expect(assertions.count == 5)
        // A server without an issuer is known by its token endpoint, which also names it where tokens are revoked.
        let named = bench.exchange.sent.map { $0.url.hasSuffix("/revoke") ? Self.token : $0.url }
        #expect(assertions.map { $0.claims["aud"]?.string } == named)
        #expect(Set(assertions.compactMap { $0.claims["jti"]?.string }).count == 5)
    }

    @Test(.holds("O57")) func `a pushed request proves the client too`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        var profile = TestIssuer.profile()
        profile.client.proof = .keyAssertion(AssertionKey(.file(key.path)), .endpoint)
        let login = try await BrowserLoginTests.Login(profile, metadata: PushedAuthorizationTests.metadata)
        login.bench.exchange.expect(
            PushedAuthorizationTests.endpoint,
            status: 201,
            #"{"request_uri":"urn:example:1"}"#
        )
        let pushed = login.bench.exchange
        let outcome = await login.run { _ in
            let form = try #require(pushed.posts(to: PushedAuthorizationTests.endpoint).last?.form)
            let port = try #require(form["redirect_uri"]?.firstMatch(of: /:(\d+)\//)?.1)
            try await OpenedAddress.redirect("code=c&state=\(form["state"] ?? "")", port: #require(Int(port)))
        }
        #expect(outcome.granted != nil, "\(outcome)")
        #expect(
            Self.assertions(login.bench).map { $0.claims["aud"] }
                == [.string(PushedAuthorizationTests.endpoint), .string(TestIssuer.tokenEndpoint)]
        )
        let sent = try #require(pushed.posts(to: PushedAuthorizationTests.endpoint).first)
        #expect(sent.formNames.count == Set(sent.formNames).count && sent.form["client_id"] == "cli")
    }

    @Test(.holds("O57")) func `a request that is sent again has another assertion`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        var profile = Self.profile(key)
        profile.bindsTokens = true
        let bench = try Bench(profile)
        let nonce = #"{"error":"use_dpop_nonce"}"#
        bench.exchange.expect(Self.token, status: 400, nonce, headers: ["dpop-nonce": "n"])
        bench.exchange.expect(Self.token, #"{"access_token":"at","token_type":"DPoP"}"#)
        let secret = try bench.secret("pw", .password)
        let request = LoginRequest(flow: .password, username: "alice", secret: secret)
        let outcome = await bench.server.logIn(request, conversation: ScriptedPerson(memory: bench.memory))
        #expect(outcome.granted != nil, "\(outcome)")
        let sent = bench.exchange.posts(to: Self.token)
        #expect(sent.allSatisfy { $0.formNames.count == Set($0.formNames).count })
        #expect(Set(Self.assertions(bench).compactMap { $0.claims["jti"]?.string }).count == 2)
    }

    @Test(.holds("O57")) func `a refresh is never sent without its assertion`() async throws {
        let missing = "/nonexistent/\(RandomText.make())"
        let open = try TemporaryFile(TestKeys.edwards, mode: 0o640)
        let encrypted = try TemporaryFile(TestKeys.encryptedPKCS8)
        for (path, words, remedy) in [
            (missing, "No such file or directory", nil), ("/", "is a directory, not a file", nil),
            (open.path, "is readable by other users", "chmod 600 \(open.path)"),
            (encrypted.path, "is encrypted", "client_key_command to a command"),
        ] as [(String, String, String?)] {
            var profile = ServerProfile.fixed()
            profile.client.proof = .keyAssertion(AssertionKey(.file(path)), .endpoint)
            let bench = try Bench(profile)
            let failure = try #require(try await bench.refresh().failure)
            #expect(failure.kind == (path == encrypted.path ? .misconfigured : .helperFailed))
            #expect(failure.message.hasPrefix("client_key_file \(path): ") && failure.message.contains(words))
            #expect(remedy.map { failure.remedy?.text.hasPrefix($0) == true } ?? (failure.remedy == nil))
            #expect(bench.exchange.sent.isEmpty)
        }
    }

    @Test func `a command prints the key once`() async throws {
        var profile = ServerProfile.fixed()
        profile.client.proof = .keyAssertion(AssertionKey(.command(["pass", "key"])), .endpoint)
        let bench = try Bench(profile, commands: ScriptedCommands(prints: TestKeys.edwards + "\n"))
        bench.exchange.expect(Self.token, Self.answer)
        bench.exchange.expect(Self.token, status: 401, #"{"error":"invalid_client"}"#)
        bench.exchange.expect(Self.token, Self.answer)
        #expect(try await bench.refresh().granted != nil)
        let refused = try #require(try await bench.refresh().failure)
        #expect(refused.remedy == ClientAssertions.rejectionRemedy)
        #expect(bench.commands.commands.count == 1)
        // A key that was refused may have been replaced.
        #expect(try await bench.refresh().granted != nil)
        #expect(bench.commands.commands.count == 2)
    }

    @Test func `an algorithm that the server does not list is not used`() async throws {
        let key = try TemporaryFile(TestKeys.rsaPKCS8)
        for (listed, used) in [(["ES256"], nil), (["PS256"], "PS256")] as [([String], String?)] {
            var profile = TestIssuer.profile()
            profile.client.proof = .keyAssertion(AssertionKey(.file(key.path)), .endpoint)
            let bench = try Bench(profile)
            let metadata = TestIssuer.metadata([
                "token_endpoint_auth_signing_alg_values_supported": .strings(listed)
            ])
            bench.exchange.expect(TestIssuer.discoveryURL, metadata)
            if used != nil { bench.exchange.expect(TestIssuer.tokenEndpoint, Self.answer) }
            let outcome = try await bench.refresh()
            #expect(Self.assertions(bench).first?.header["alg"]?.string == used)
            let isRejected = outcome.failure?.message.contains("not supported by the server") == true
            #expect(isRejected == (used == nil))
        }
    }

    // MARK: client_secret_jwt

    @Test func `a client secret signs in place of being shown`() async throws {
        let secret = try TemporaryFile("0123456789abcdef0123456789abcdef\n")
        var profile = ServerProfile.fixed()
        profile.client.proof = .secretAssertion(.file(secret.path), .endpoint)
        let bench = try Bench(profile)
        bench.exchange.expect(Self.token, Self.answer)
        #expect(try await bench.refresh().granted != nil)
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.headers["authorization"] == nil && sent.form["client_secret"] == nil)
        let assertion = try #require(Self.assertions(bench).first)
        #expect(assertion.header["alg"] == "HS256")
        let key = Array("0123456789abcdef0123456789abcdef".utf8)
        #expect(SignatureAlgorithm.hs256.verify(assertion, secret: key))
    }

    @Test(
        arguments: [(["HS512"], "HS512"), (["HS384", "HS512"], "HS384"), (["RS256"], nil)]
            as [([String], String?)]
    )
    func `a client secret signs only as the server lists`(listed: [String], used: String?) async throws {
        var profile = TestIssuer.profile()
        profile.client.proof = .secretAssertion(.command(["x"]), .endpoint)
        let bench = try Bench(profile, commands: ScriptedCommands(prints: "s3cret"))
        let metadata = TestIssuer.metadata([
            "token_endpoint_auth_signing_alg_values_supported": .strings(listed)
        ])
        bench.exchange.expect(TestIssuer.discoveryURL, metadata)
        if used != nil { bench.exchange.expect(TestIssuer.tokenEndpoint, Self.answer) }
        let outcome = try await bench.refresh()
        #expect(Self.assertions(bench).first?.header["alg"]?.string == used)
        #expect((outcome.failure?.kind == .misconfigured) == (used == nil))
    }

    // MARK: The recipient of an assertion

    @Test(.holds("O57")) func `an assertion for one server is never good at another`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        var profile = TestIssuer.profile()
        profile.client.proof = .keyAssertion(AssertionKey(.file(key.path)), .endpoint)
        let bench = try Bench(profile)
        // Metadata that has the honest server's token endpoint beside a revocation endpoint of its own.
        let document = TestIssuer.metadata(["revocation_endpoint": "https://evil.example/revoke"])
        bench.exchange.always(TestIssuer.discoveryURL, .json(document))
        bench.exchange.always("https://evil.example/revoke", .json(""))
        let token = try bench.secret("rt-1")
        _ = await bench.server.revoke(RevocationRequest(refreshToken: token, accessToken: nil))
        #expect(Self.assertions(bench).map { $0.claims["aud"] } == [.string(TestIssuer.url)])
    }
}
