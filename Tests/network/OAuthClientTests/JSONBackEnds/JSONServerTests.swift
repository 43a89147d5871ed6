// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

struct JSONServerTests {
    static let login = "https://api.example/auth/login"
    static let refresh = "https://api.example/auth/refresh"
    static let logout = "https://api.example/auth/logout"

    static func profile(_ rules: JSONBackEndDialect = .signaling) -> ServerProfile {
        let backEnd = JSONBackEnd(loginURL: login, refreshURL: refresh, logoutURL: logout, rules: rules)
        return ServerProfile(kind: .json(backEnd), client: ClientIdentity(""), flow: .password)
    }

    func bench(_ rules: JSONBackEndDialect = .signaling) throws -> KindBench {
        try KindBench(JSONServerTests.profile(rules))
    }

    @Test func `a login sends name and password as JSON and keeps what is asked for`() async throws {
        let bench = try bench()
        bench.exchange.expect(
            JSONServerTests.login,
            #"{"accessToken":"at-1","refreshToken":"rt-1","expiresIn":900,"refreshExpiresIn":2592000,"#
                + #""userId":42,"deviceId":"d-7","plan":"gold"}"#
        )
        let grant = try #require(try await bench.logIn(secret: "se\"cret\n").granted)
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.json == ["username": "alice", "password": "se\"cret\n"])
        #expect(sent.contentType == "application/json")
        #expect(sent.headers["authorization"] == nil)
        #expect(try bench.text(grant.tokens.accessToken) == "at-1")
        #expect(grant.tokens.lifetime == .seconds(900))
        #expect(grant.tokens.refreshLifetime == RefreshLifetime(.seconds(2_592_000)))
        #expect(grant.tokens.keptMembers == ["userId": "42", "deviceId": "d-7"])
        #expect(grant.renewal == .refreshToken(try #require(grant.tokens.refreshToken)))
        #expect(grant.tokenEndpoint == JSONServerTests.refresh)
        #expect(grant.account == "alice")
    }

    @Test func `name and password are asked for when they are not given, and forgotten`() async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.login, #"{"accessToken":"at-1","refreshToken":"rt-1"}"#)
        let person = ScriptedPerson(memory: bench.memory) { $0.kind == .username ? "bob" : "bob-password" }
        let outcome = await bench.server.logIn(LoginRequest(), conversation: person)
        #expect(outcome.granted?.account == "bob")
        #expect(person.questions.map(\.kind) == [.username, .password])
        #expect(person.questions.map(\.isSecret) == [false, true])
        #expect(bench.exchange.sent.first?.json == ["username": "bob", "password": "bob-password"])
    }

    @Test func `whoever leaves at a question cancels the login`() async throws {
        let bench = try bench()
        #expect(try await bench.logIn(secret: nil) == .cancelled)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `a refused password is told with its code`() async throws {
        let bench = try bench()
        bench.exchange.expect(
            JSONServerTests.login,
            status: 401,
            #"{"error":"invalid_credentials","message":"Wrong password"}"#
        )
        let failure = try #require(try await bench.logIn().failure)
        #expect(failure.kind == .sessionOver)
        #expect(failure.code == "invalid_credentials")
        #expect(failure.message == "api.example returned 401 invalid_credentials: Wrong password")
    }

    @Test func `an imported refresh token is used once, and kept where no other comes`() async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.refresh, #"{"accessToken":"at-2","expiresIn":"900"}"#)
        let grant = try #require(try await bench.logIn(.import, username: nil, secret: "rt-0").granted)
        guard case .refreshToken(let token) = grant.renewal else {
            Issue.record("no refresh token")
            return
        }
        #expect(try bench.text(token) == "rt-0")
        #expect(bench.exchange.sent.first?.json == ["refreshToken": "rt-0"])
    }

    @Test(arguments: [LoginFlow.browser, .device, .clientCredentials])
    func `flows of OAuth are refused before anything is sent`(flow: LoginFlow) async throws {
        let bench = try bench()
        #expect(try await bench.logIn(flow).failure?.kind == .misconfigured)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `a refresh takes both new tokens`() async throws {
        let bench = try bench()
        bench.exchange.expect(
            JSONServerTests.refresh,
            #"{"accessToken":"at-2","refreshToken":"rt-2","expiresIn":900}"#
        )
        let tokens = try #require(try await bench.refresh().granted)
        #expect(bench.exchange.sent.first?.json == ["refreshToken": "rt-1"])
        #expect(try bench.text(tokens.refreshToken) == "rt-2")
        #expect(tokens.refreshLifetime == nil)
        #expect(!tokens.refreshTokenUnchanged)
    }

    @Test(arguments: [
        #"{"accessToken":"at-2"}"#, #"{"accessToken":"at-2","refreshToken":null}"#,
        #"{"accessToken":"at-2","refreshToken":""}"#, #"{"accessToken":"at-2","refreshToken":"rt-1"}"#,
    ])
    func `without a new refresh token the old one stays`(answer: String) async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.refresh, answer)
        let tokens = try #require(try await bench.refresh().granted)
        #expect(tokens.refreshToken == nil)
        #expect(tokens.lifetime == nil)
    }

    @Test func `names and codes can be anything`() async throws {
        var rules = JSONBackEndDialect.ecall
        rules.responses.names.refreshToken = "rt"
        rules.responses.names.accessToken = "at"
        rules.responses.names.expiresIn = "ttl"
        rules.responses.keptMembers = ["tenant"]
        let bench = try bench(rules)
        bench.exchange.expect(JSONServerTests.refresh, #"{"at":"a","rt":"r","ttl":60,"tenant":"t"}"#)
        let tokens = try #require(try await bench.refresh().granted)
        #expect(bench.exchange.sent.first?.json == ["rt": "rt-1"])
        #expect(tokens.lifetime == .seconds(60))
        #expect(tokens.keptMembers == ["tenant": "t"])
        #expect(try bench.text(tokens.refreshToken) == "r")
    }

    /// As Synapse has it.
    @Test func `milliseconds are read as such where the configuration says so`() async throws {
        var rules = JSONBackEndDialect.signaling
        rules.responses.names.expiresIn = "expires_in_ms"
        rules.responses.lifetimeUnit = .milliseconds
        let bench = try bench(rules)
        bench.exchange.expect(JSONServerTests.refresh, #"{"accessToken":"at-2","expires_in_ms":86400000}"#)
        let tokens = try #require(try await bench.refresh().granted)
        #expect(tokens.lifetime == .seconds(86_400))
    }

    @Test func `a session without refresh token ends as unauthorized, and nothing is sent`() async throws {
        let bench = try bench(.ecall)
        let failure = try #require(try await bench.refresh(.impossible).failure)
        #expect(failure.kind == .sessionOver)
        #expect(failure.code == "unauthorized")
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `a scope of its own cannot be had`() async throws {
        let bench = try bench()
        let outcome = try await bench.refresh(variant: TokenVariant(scopes: ["x"], audience: nil))
        #expect(outcome.failure?.kind == .variantRefused)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test(.holds("105")) func `a refresh token goes nowhere but where it was given`() async throws {
        let bench = try bench()
        let outcome = try await bench.refresh(tokenEndpoint: "https://other.example/auth/refresh")
        #expect(outcome.failure?.kind == .misconfigured)
        #expect(try await bench.revoke(tokenEndpoint: "https://other.example/x") != .revoked)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test(arguments: [
        (TransportFailure.unreachable("x"), FailureClass.unreachable), (.insecure("x"), .insecure),
        (.ambiguous("x"), .ambiguous), (.oversized("x"), .misbehaved),
    ])
    func `network failures keep their meaning`(failure: TransportFailure, kind: FailureClass) async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.refresh, .failure(failure))
        #expect(try await bench.refresh().failure?.kind == kind)
    }

    @Test(arguments: ["<html>sign in to the airport</html>", "", "[]", "{}", #"{"accessToken":7}"#])
    func `a 200 without tokens is no answer`(body: String) async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.refresh, body)
        #expect(try await bench.refresh().failure?.kind == .misbehaved)
    }

    @Test func `a logout shows the access token and nothing that the back end does not want`() async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.logout, status: 204, "")
        #expect(try await bench.revoke() == .revoked)
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.headers["authorization"] == "Bearer at-1")
        #expect(sent.json == JSONObject())
    }

    @Test func `a logout that the back end refuses with a success is none`() async throws {
        var rules = JSONBackEndDialect.signaling
        rules.responses.success = JSONPath(["ok"]).map { TokenResponseFormat.SuccessMark($0, "true") }
        let bench = try bench(rules)
        bench.exchange.expect(JSONServerTests.logout, #"{"ok":false,"code":"busy"}"#)
        #expect(try await bench.revoke() != .revoked)
        bench.exchange.expect(JSONServerTests.logout, #"{"ok":true}"#)
        #expect(try await bench.revoke() == .revoked)
    }

    @Test func `a back end that wants the refresh token gets it at logout`() async throws {
        let bench = try bench(.ecall)
        bench.exchange.expect(JSONServerTests.logout, "{}")
        #expect(try await bench.revoke() == .revoked)
        #expect(bench.exchange.sent.first?.json == ["refreshToken": "rt-1"])
    }

    @Test func `an access token too old to log out with is renewed for it`() async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.logout, status: 401, #"{"error":"access_token_expired"}"#)
        bench.exchange.expect(JSONServerTests.refresh, #"{"accessToken":"at-2","refreshToken":"rt-2"}"#)
        bench.exchange.expect(JSONServerTests.logout, status: 200, "{}")
        #expect(try await bench.revoke() == .revoked)
        #expect(bench.exchange.sent.last?.headers["authorization"] == "Bearer at-2")
    }

    @Test(arguments: [
        ScriptedExchange.Answer.failure(.unreachable("no route")), .json("", status: 503),
        .json("<html>", status: 502),
    ])
    func `a logout nobody hears is worth another try`(answer: ScriptedExchange.Answer) async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.logout, answer)
        guard case .failed = try await bench.revoke() else {
            Issue.record("the logout would not be repeated")
            return
        }
    }

    @Test func `a logout for which the refresh token was spent is not tried again with it`() async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.logout, status: 401, #"{"error":"access_token_expired"}"#)
        bench.exchange.expect(JSONServerTests.refresh, #"{"accessToken":"at-2","refreshToken":"rt-2"}"#)
        bench.exchange.expect(JSONServerTests.logout, status: 503, "")
        guard case .refused = try await bench.revoke() else {
            Issue.record("a spent refresh token would be shown")
            return
        }
    }

    @Test func `without logout_url the server is told nothing`() async throws {
        let backEnd = JSONBackEnd(loginURL: nil, refreshURL: JSONServerTests.refresh, logoutURL: nil)
        let bench = try KindBench(
            ServerProfile(kind: .json(backEnd), client: ClientIdentity(""), flow: .import)
        )
        guard case .unsupported(let message) = try await bench.revoke() else {
            Issue.record("something was revoked")
            return
        }
        #expect(message.contains("no logout_url"))
    }

    @Test func `a session the server has forgotten is logged out`() async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.logout, status: 401, #"{"error":"token_revoked"}"#)
        #expect(try await bench.revoke() == .revoked)
    }

    @Test func `rules that contradict themselves are named by key`() {
        var leaking = JSONBackEndDialect.signaling
        leaking.responses.keptMembers = ["refreshToken"]
        var torn = JSONBackEndDialect.signaling
        torn.refreshCodes = ["token_revoked"]
        var doubled = JSONBackEndDialect.signaling
        doubled.responses.names.accessToken = "refreshToken"
        for (rules, key) in [(leaking, "keep"), (torn, "logout_on"), (doubled, "fields")] {
            #expect(JSONServerTests.profile(rules).problems.map(\.key).contains(key))
        }
    }
}
