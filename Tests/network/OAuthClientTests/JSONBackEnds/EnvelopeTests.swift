// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Back ends that wrap their answers.
struct EnvelopeTests {
    static let rules: JSONBackEndDialect = {
        var rules = JSONBackEndDialect.signaling
        rules.responses.envelope = JSONPath(["data", "session"])
        rules.responses.errorCode = JSONPath(["errors", "0", "reason"])
        return rules
    }()

    private func bench() throws -> KindBench {
        try KindBench(JSONServerTests.profile(EnvelopeTests.rules))
    }

    @Test func `tokens come from the envelope, members to keep from around it too`() async throws {
        let bench = try bench()
        bench.exchange.expect(
            JSONServerTests.login,
            #"{"code":"OK","deviceId":"d-7","data":{"userId":42,"session":{"accessToken":"at-1","#
                + #""refreshToken":"rt-1","expiresIn":900,"refreshExpiresIn":60}}}"#
        )
        let tokens = try #require(try await bench.logIn().granted).tokens
        #expect(try bench.text(tokens.accessToken) == "at-1")
        #expect(try bench.text(tokens.refreshToken) == "rt-1")
        #expect(tokens.lifetime == .seconds(900))
        #expect(tokens.refreshLifetime == RefreshLifetime(.seconds(60)))
        #expect(tokens.keptMembers == ["userId": "42", "deviceId": "d-7"])
    }

    @Test(arguments: [
        #"{"accessToken":"at-2","refreshToken":"rt-2"}"#,
        #"{"data":{"accessToken":"at-2","refreshToken":"rt-2"}}"#,
        #"{"data":{"session":[{"accessToken":"at-2","refreshToken":"rt-2"}]}}"#,
        #"{"data":[{"session":{"accessToken":"at-2","refreshToken":"rt-2"}}]}"#,
        #"{"data":{"session":null}}"#, #"{"data":{"session":"{}"}}"#,
        #"{"data.session":{"accessToken":"at-2"}}"#,
        #"{"data":{"session":{"accessToken":"at-2"}},"data":{"session":{"accessToken":"at-3"}}}"#,
    ])
    func `a token beside the envelope is none`(answer: String) async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.refresh, answer)
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.kind == .misbehaved)
    }

    @Test(arguments: [
        (#"{"data":{}}"#, "the response has no object data.session"),
        (#"{"data":{"session":{}}}"#, "the response has no accessToken in data.session"),
        (
            #"{"data":{"session":{"accessToken":7}}}"#,
            "the accessToken in the response is not a string in data.session"
        ),
    ])
    func `what is missing is told with its place`(answer: String, words: String) async throws {
        let bench = try bench()
        bench.exchange.expect(JSONServerTests.refresh, answer)
        #expect(try await bench.refresh().failure?.message == "api.example: \(words)")
    }

    @Test func `the refresh token of an answer that cannot be used is kept, from the envelope alone`()
        async throws
    {
        let bench = try bench()
        bench.exchange.expect(
            JSONServerTests.refresh,
            #"{"refreshToken":"rt-outside","data":{"session":{"refreshToken":"rt-2"}}}"#
        )
        guard case .unusable(_, let saved) = try await bench.refresh() else {
            Issue.record("the new refresh token is lost")
            return
        }
        #expect(try bench.text(saved.refreshToken) == "rt-2")
    }

    @Test(arguments: [
        #"{"errors":[{"reason":"token_revoked"}]}"#, #"{"error":"token_revoked"}"#,
        #"{"data":{"error":{"code":"token_revoked"}}}"#, #"{"data":{"session":{"code":"token_revoked"}}}"#,
        #"{"code":"E1","data":{"session":{"error":"token_revoked"}}}"#,
        #"{"data":{"session":{"requiresReauth":true}}}"#,
    ])
    func `a code in any place ends the session`(body: String) async throws {
        for status in [200, 401] {
            let bench = try bench()
            bench.exchange.expect(JSONServerTests.refresh, status: status, body)
            #expect(try await bench.refresh().failure?.kind == .sessionOver)
        }
    }

    @Test func `a number can be a code, where the configuration says that codes are`() async throws {
        var rules = EnvelopeTests.rules
        rules.logoutCodes = ["4711"]
        let bench = try KindBench(JSONServerTests.profile(rules))
        bench.exchange.expect(JSONServerTests.refresh, status: 400, #"{"errors":[{"reason":4711}]}"#)
        let failure = try #require(try await bench.refresh().failure)
        #expect((failure.kind, failure.code) == (.sessionOver, "4711"))
    }

    @Test func `a logout whose refusal is wrapped renews the token first`() async throws {
        let bench = try bench()
        bench.exchange.expect(
            JSONServerTests.logout,
            status: 401,
            #"{"errors":[{"reason":"access_token_expired"}]}"#
        )
        bench.exchange.expect(
            JSONServerTests.refresh,
            #"{"data":{"session":{"accessToken":"at-2","refreshToken":"rt-2"}}}"#
        )
        bench.exchange.expect(JSONServerTests.logout, status: 204, "")
        #expect(try await bench.revoke() == .revoked)
        #expect(bench.exchange.sent.last?.headers["authorization"] == "Bearer at-2")
    }

    /// As django-allauth's headless API has it.
    @Test func `a login may have an envelope of its own`() async throws {
        var rules = JSONBackEndDialect.signaling
        rules.responses.envelope = JSONPath(["data"])
        rules.responses.loginEnvelope = JSONPath(["meta"])
        let bench = try KindBench(JSONServerTests.profile(rules))
        bench.exchange.expect(
            JSONServerTests.login,
            #"{"status":200,"data":{"user":{"id":1}},"meta":{"accessToken":"at-1","refreshToken":"rt-1"}}"#
        )
        let grant = try #require(try await bench.logIn().granted)
        #expect(try bench.text(grant.tokens.refreshToken) == "rt-1")
        bench.exchange.expect(
            JSONServerTests.refresh,
            #"{"status":200,"data":{"accessToken":"at-2","refreshToken":"rt-2"}}"#
        )
        let granted = try #require(try await bench.refresh(grant.renewal).granted)
        #expect(try bench.text(granted.refreshToken) == "rt-2")
    }

    @Test func `a rolled refresh token in another envelope than the configured one is kept`() async throws {
        let bench = try bench()
        bench.exchange.expect(
            JSONServerTests.refresh,
            #"{"meta":{"accessToken":"at-2","refreshToken":"rt-2"},"data":{"user":{}}}"#
        )
        let outcome = try await bench.refresh()
        #expect(outcome.failure?.message == "api.example: the response has no object data.session")
        #expect(try bench.text(outcome.saved?.refreshToken) == "rt-2")
        // Of two candidates neither is certain.
        bench.exchange.expect(
            JSONServerTests.refresh,
            #"{"a":{"accessToken":"at-2","refreshToken":"rt-2"},"b":{"accessToken":"at-3","refreshToken":"rt-3"}}"#
        )
        #expect(try await bench.refresh().saved == nil)
    }
}
