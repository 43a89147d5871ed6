// SPDX-License-Identifier: MIT

import ServerSettings
import Synchronization
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// A server writes what we sent it into its own words, in every place that is kept or shown.
struct EchoedSecretTests {
    /// The forms in which `secret` must be found nowhere.
    static func forms(of secret: String) -> [String] {
        let bytes = Array(secret.utf8)
        let escaped = bytes.map { "%" + hex($0) }.joined()
        let percent = AuthorizationTransaction.address(at: url, [("x", secret)]).split(separator: "x=")[1]
        let basic = Base64.encoded("cli:\(FormEncoding.encoded(secret))".utf8)
        return [
            secret, escaped, escaped.lowercased(), bytes.map(hex).joined(),
            bytes.map(hex).joined().lowercased(), String(percent), FormEncoding.encoded(secret),
            Base64.encoded(bytes), Base64.urlEncoded(bytes), Base64.encoded("user:\(secret)".utf8),
            Base64.encoded("a:\(secret)".utf8), basic, JSONValue.string(secret).text,
            secret.replacing("/", with: #"\/"#),
        ]
    }

    private static func hex(_ byte: UInt8) -> String {
        String(byte >> 4, radix: 16, uppercase: true) + String(byte & 15, radix: 16, uppercase: true)
    }

    private static let url: EndpointURL = {
        guard let url = try? EndpointURL("https://tokens.example/x") else { fatalError("no address") }
        return url
    }()

    /// `text` holds neither `secret` nor a good part of one of its forms.
    static func expectNothing(
        of secret: String,
        in text: String,
        _ place: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for form in forms(of: secret) {
            let shown = ServerText.cleaned(form)
            for start in stride(from: 0, to: max(1, form.utf8.count - 15), by: 12) {
                let piece = String(decoding: Array(form.utf8).dropFirst(start).prefix(16), as: UTF8.self)
                #expect(!text.contains(piece), "\(place): \(piece)", sourceLocation: sourceLocation)
            }
            #expect(!text.contains(shown), "\(place): \(shown)", sourceLocation: sourceLocation)
        }
    }

    @Test(.holds("O58"), arguments: Array(forms(of: EchoBench.refreshToken).enumerated()).map(\.offset))
    func `a refusal that repeats the refresh token in any form is shown without it`(number: Int) async throws
    {
        let form = Self.forms(of: EchoBench.refreshToken)[number]
        for member in ["error", "error_description"] {
            let bench = try EchoBench(.fixed()) { _ in
                var answer: JSONObject = ["error": "invalid_request"]
                answer[member] = .string(member == "error" ? form : "token \(form) is not known")
                return .json(.object(answer))
            }
            let failure = try #require(try await bench.refresh().failure)
            Self.expectNothing(of: EchoBench.refreshToken, in: "\(failure)", member)
            #expect(failure.message.contains("[redacted]"))
            #expect(member == "error" || failure.kind == .unexplained)
        }
    }

    @Test(arguments: [
        "abc%2Ddef%2Dsecret", "abc%2ddef-secret", "%61bc-def-secret", "abc%252Ddef%252Dsecret",
        "a%62c%2D%64ef-s%65cret",
    ])
    func `a secret with any of its bytes percent-encoded is taken out`(echo: String) async throws {
        let redaction = Redaction([Array("abc-def-secret".utf8)])
        #expect(
            redaction.applied(to: "bad token \(echo), 100% sure %2") == "bad token [redacted], 100% sure %2"
        )
        let basic = Base64.encoded("cli:abc-def-secret".utf8).replacing("=", with: "%3D")
        #expect(!redaction.applied(to: "Basic \(basic) x").contains(basic.prefix(10)))
    }

    @Test func `a token that a text was cut off in is taken out as well`() async throws {
        for filler in 240..<300 {
            let bench = try EchoBench(.fixed()) { received in
                let token = received.parameters["refresh_token"] ?? ""
                let description = String(repeating: "x", count: filler) + token
                return .json(["error": "invalid_request", "error_description": .string(description)])
            }
            let failure = try #require(try await bench.refresh().failure)
            #expect(!failure.message.contains("rt-0"), "\(filler): \(failure.message)")
        }
    }

    @Test(.holds("O58")) func `what is kept of a token answer holds no token, old or new`() async throws {
        let bench = try EchoBench(.fixed()) { received in
            let token = received.parameters["refresh_token"] ?? ""
            let scope = "api \(Base64.urlEncoded(token.utf8)) new-refresh-token-1234 \(EchoBench.accessToken)"
            return .json(
                [
                    "access_token": "new-access-token-5678", "refresh_token": "new-refresh-token-1234",
                    "scope": .string("\(scope) new-access-token-5678"),
                ],
                status: 200
            )
        }
        let tokens = try #require(try await bench.refresh().granted)
        let mark = Redaction.mark
        #expect(tokens.scope == ["api", mark, mark, mark, mark])
        #expect(try bench.memory.text(of: #require(tokens.refreshToken)) == "new-refresh-token-1234")
    }

    @Test func `a token type that is the new token is not told`() async throws {
        let bench = try EchoBench(.fixed()) { _ in
            .json(
                ["access_token": "new-access-token-5678", "token_type": "new-access-token-5678"],
                status: 200
            )
        }
        let tokens = try #require(try await bench.refresh().granted)
        #expect(tokens.tokenType == "Bearer" && tokens.serverTokenType == Redaction.mark)
    }

    @Test(arguments: [ClientSecretMethod.basic, .post])
    func `a client secret is taken out however it was sent`(method: ClientSecretMethod) async throws {
        var profile = ServerProfile.fixed()
        profile.client.proof = .secret(.command(["pass"]), method)
        let bench = try EchoBench(profile) { received in
            let secret = received.parameters["client_secret"] ?? received.authorization ?? ""
            let forms = Self.forms(of: EchoBench.clientSecret).joined(separator: " ").prefix(200)
            return .json(["error": .string(secret), "error_description": .string("\(forms)")])
        }
        let failure = try #require(try await bench.refresh().failure)
        Self.expectNothing(of: EchoBench.clientSecret, in: "\(failure)", "\(method)")
    }

    @Test func `a revocation's refusal repeats no token`() async throws {
        let bench = try EchoBench(.fixed()) { received in
            .json([
                "error": "invalid_client", "error_description": .string(received.parameters["token"] ?? ""),
            ])
        }
        let outcome = try await bench.revoke()
        Self.expectNothing(of: EchoBench.refreshToken, in: "\(outcome)", "revocation")
        Self.expectNothing(of: EchoBench.accessToken, in: "\(outcome)", "revocation")
    }

    @Test func `a password login's refusal repeats no password`() async throws {
        let bench = try EchoBench(.fixed()) { received in
            let password = received.parameters["password"] ?? ""
            return .json(["error": "invalid_grant", "error_description": .string("not \(password)")])
        }
        let failure = try #require(try await bench.logIn(.password, secret: EchoBench.password).failure)
        #expect(failure.kind == .grantDead && failure.code == "invalid_grant")
        Self.expectNothing(of: EchoBench.password, in: "\(failure)", "password")
    }

    @Test func `a short password that is a part of a protocol's word changes no meaning`() async throws {
        let bench = try EchoBench(.fixed()) { _ in .json(["error": "invalid_grant"]) }
        let failure = try #require(try await bench.logIn(.password, secret: "grant").failure)
        #expect(failure.kind == .grantDead && failure.code == "invalid_grant")
    }

    @Test(.holds("O58")) func `code and verifier of a browser login come back in nothing that is shown`()
        async throws
    {
        let sent = Mutex<[String]>([])
        let bench = try EchoBench(.fixed()) { received in
            let secrets = [received.parameters["code"] ?? "", received.parameters["code_verifier"] ?? ""]
            sent.withLock { $0 = secrets }
            return .json(["error": "invalid_grant", "error_description": .string("\(secrets)")])
        }
        let address = Mutex("")
        let person = ScriptedPerson(memory: bench.memory) { _ in
            let opened = address.withLock { $0 }
            let query = opened.split(separator: "?", maxSplits: 1).last ?? ""
            let parameters = FormEncoding.decoded(query) ?? []
            func value(_ name: String) -> String { parameters.first { $0.name == name }?.value ?? "" }
            return "\(value("redirect_uri"))?code=the-code-of-this-login&state=\(value("state"))"
        } whenTold: { step in
            guard case .openURL(let opened, _) = step else { return }
            address.withLock { $0 = opened }
        }
        let failure = try #require(
            try await bench.logIn(.browser, pastesRedirect: true, person: person).failure
        )
        #expect(failure.code == "invalid_grant")
        let secrets = sent.withLock { $0 }
        #expect(secrets.count == 2 && secrets[0] == "the-code-of-this-login")
        for secret in secrets { Self.expectNothing(of: secret, in: "\(failure)", "code exchange") }
    }

    @Test func `what a pushed request's answer says holds no client secret`() async throws {
        let bench = try EchoBench(TestIssuer.profile(secret: .command(["pass"]))) { received in
            guard received.url.hasSuffix("/par") else {
                return .json(metadata(PushedAuthorizationTests.metadata), status: 200)
            }
            return .json(["request_uri": .string("urn:x:\(EchoBench.clientSecret)")], status: 201)
        }
        let person = ScriptedPerson(memory: bench.memory)
        _ = try await bench.logIn(.browser, pastesRedirect: true, person: person)
        #expect(person.steps.count == 1)
        Self.expectNothing(of: EchoBench.clientSecret, in: "\(person.steps)", "request_uri")
    }

    @Test func `a user code is not the device code, nor the client secret`() async throws {
        let secret = EchoBench.clientSecret
        let bench = try EchoBench(.fixed(secret: .command(["pass"]))) { received in
            guard received.url.hasSuffix("/device") else {
                let code = received.parameters["device_code"] ?? ""
                return .json(["error": "access_denied", "error_description": .string(code)])
            }
            return .json(
                [
                    "device_code": "device-code-0123456789", "user_code": "device-code-0123456789",
                    "verification_uri": .string("https://tokens.example/\(FormEncoding.encoded(secret))"),
                ],
                status: 200
            )
        }
        let person = ScriptedPerson(memory: bench.memory)
        let outcome = try await bench.logIn(.device, person: person)
        #expect(person.steps.count == 1 && outcome.failure?.code == "access_denied")
        Self.expectNothing(of: "device-code-0123456789", in: "\(person.steps) \(outcome)", "device")
        Self.expectNothing(of: secret, in: "\(person.steps) \(outcome)", "device")
    }

    @Test func `metadata that names a secret is refused without naming it`() async throws {
        let bench = try EchoBench(TestIssuer.profile()) { _ in
            .json(metadata(["issuer": .string("https://\(EchoBench.accessToken)/")]), status: 200)
        }
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.message.contains("issuer"))
        Self.expectNothing(of: EchoBench.accessToken, in: "\(failure)", "discovery")
    }

    @Test func `a back end of kind json gets nothing kept that is secret`() async throws {
        let bench = try EchoBench(JSONServerTests.profile()) { received in
            .json(
                [
                    "accessToken": "new-access-token-5678",
                    "userId": .string(received.parameters["refreshToken"] ?? ""),
                    "deviceId": "new-access-token-5678",
                ],
                status: 200
            )
        }
        let tokens = try #require(try await bench.refresh().granted)
        #expect(tokens.keptMembers == ["userId": Redaction.mark, "deviceId": Redaction.mark])
        let refusing = try EchoBench(JSONServerTests.profile()) { received in
            let token = received.parameters["refreshToken"] ?? ""
            return .json(["code": .string(token), "message": .string("no \(token)")], status: 401)
        }
        let failure = try #require(try await refusing.refresh().failure)
        Self.expectNothing(of: EchoBench.refreshToken, in: "\(failure)", "json")
    }

    @Test func `a pool's exceptions repeat no token`() async throws {
        let pool = CognitoPool(
            region: "eu-west-1",
            userPoolID: "eu-west-1_abc",
            endpoint: "https://pool.example"
        )
        let profile = ServerProfile(kind: .cognito(pool), client: ClientIdentity("cli"), flow: .password)
        let bench = try EchoBench(profile) { received in
            let token = received.parameters["REFRESH_TOKEN"] ?? received.parameters["RefreshToken"] ?? ""
            return .json(["__type": .string(token), "message": .string("no \(token)")])
        }
        let failure = try #require(try await bench.refresh().failure)
        Self.expectNothing(of: EchoBench.refreshToken, in: "\(failure)", "cognito")
    }
}

private func metadata(_ changes: [String: JSONValue]) -> JSONValue {
    (try? JSONValue(parsing: TestIssuer.metadata(changes).utf8)) ?? .null
}
