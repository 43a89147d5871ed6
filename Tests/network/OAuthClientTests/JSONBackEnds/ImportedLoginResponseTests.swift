// SPDX-License-Identifier: MIT

import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Logins taken over from the app by the answer it was given.
struct ImportedLoginResponseTests {
    private func bench() throws -> KindBench { try KindBench(JSONServerTests.profile()) }

    private func refreshTokens(in bench: KindBench) throws -> [String] {
        try (1...40).map { SecretID(rawValue: $0) }.filter { bench.memory.kind(of: $0) == .refreshToken }
            .compactMap { try bench.text($0) }
    }

    /// A JWT that nobody signed, which ends `seconds` after the test's clock.
    private func token(endingIn seconds: Int64, _ bench: KindBench) -> String {
        let claims: JSONValue = [
            "exp": .integer(bench.clock.wallTime.secondsSince1970 + seconds),
            "iat": .integer(bench.clock.wallTime.secondsSince1970 - 600),
        ]
        return "e30.\(Base64.urlEncoded(claims.serialized)).AA"
    }

    private static let lives: [(end: Int64?, expiresIn: Int64?, lifetime: Duration?)] = [
        (nil, nil, nil), (nil, 900, .seconds(900)), (300, 900, .seconds(300)), (300, nil, .seconds(300)),
        (300, 120, .seconds(120)),
    ]

    @Test(arguments: lives)
    func `the access token is served for as long as it says, nothing is sent`(
        end: Int64?,
        expiresIn: Int64?,
        lifetime: Duration?
    ) async throws {
        let bench = try bench()
        let access = end.map { token(endingIn: $0, bench) } ?? "at-1"
        var answer: JSONObject = [
            "accessToken": .string(access), "refreshToken": "rt-1", "refreshExpiresIn": 60,
        ]
        if let expiresIn { answer["expiresIn"] = .integer(expiresIn) }
        let saved = " \n" + JSONValue.object(answer).text
        let grant = try #require(try await bench.logIn(.import, username: "bob", secret: saved).granted)
        #expect(try bench.text(grant.tokens.accessToken) == access)
        #expect(grant.tokens.lifetime == lifetime)
        #expect(grant.tokens.refreshLifetime == RefreshLifetime(.seconds(60)))
        #expect(grant.renewal == .refreshToken(try #require(grant.tokens.refreshToken)))
        #expect(try bench.text(grant.tokens.refreshToken) == "rt-1")
        #expect(grant.account == "bob")
        #expect(grant.tokenEndpoint == JSONServerTests.refresh)
        #expect(bench.exchange.sent.isEmpty)
        // The request's own is the caller's, and nothing else is left of it.
        #expect(try refreshTokens(in: bench) == [saved, "rt-1"])
    }

    @Test(arguments: [true, false])
    func `without a token that is good the refresh token is used, and the rest is kept`(
        isExpired: Bool
    ) async throws {
        let bench = try bench()
        let access = isExpired ? #""accessToken":"\#(token(endingIn: -1, bench))","# : ""
        bench.exchange.expect(JSONServerTests.refresh, #"{"accessToken":"at-2","deviceId":"d-2"}"#)
        let saved = #"{\#(access)"refreshToken":"rt-1","refreshExpiresIn":60,"userId":1,"deviceId":"d-1"}"#
        let grant = try #require(try await bench.logIn(.import, username: nil, secret: saved).granted)
        #expect(bench.exchange.sent.map(\.json) == [["refreshToken": "rt-1"]])
        #expect(try bench.text(grant.tokens.accessToken) == "at-2")
        #expect(grant.tokens.keptMembers == ["userId": "1", "deviceId": "d-2"])
        #expect(grant.tokens.refreshLifetime == RefreshLifetime(.seconds(60)))
        guard case .refreshToken(let kept) = grant.renewal else {
            Issue.record("the refresh token is lost")
            return
        }
        #expect(try bench.text(kept) == "rt-1")
        #expect(try refreshTokens(in: bench).sorted() == ["rt-1", saved].sorted())
    }

    @Test(arguments: [
        "{", "[]", "{}", #"{"accessToken":"at"}"#, #"{"refreshToken":""}"#, #"{"refreshToken":null}"#,
        #"{"refreshToken":"a\tb"}"#, #"{"refreshToken":{"refreshToken":"rt"}}"#,
        #"{"accessToken":["at"],"refreshToken":"rt"}"#, #"{"data":{"refreshToken":"rt"}}"#,
        #"{"refreshToken":"rt"} x"#,
        String(repeating: #"{"a":"#, count: 40) + String(repeating: "}", count: 40),
        #"{"refreshToken":"rt","x":"\#(String(repeating: "x", count: 32 << 10))"}"#,
    ])
    func `what is no answer to go on with is refused, and nothing is left of it`(saved: String) async throws {
        let bench = try bench()
        let outcome = try await bench.logIn(.import, username: nil, secret: saved)
        #expect(outcome.failure?.kind == .misconfigured)
        #expect(bench.exchange.sent.isEmpty)
        #expect(try refreshTokens(in: bench) == [saved])
    }

    @Test func `the saved tokens are taken out of what the back end says`() async throws {
        let bench = try bench()
        bench.exchange.expect(
            JSONServerTests.refresh,
            status: 400,
            #"{"error":"e","message":"refresh-secret-1 is known"}"#
        )
        let redacting = RedactingServer(
            server: bench.server,
            names: ExchangeSecrets.ParameterNames(bench.server.profile.kind),
            memory: bench.memory
        )
        let saved = try bench.secret(#"{"refreshToken":"refresh-secret-1"}"#)
        let outcome = await redacting.logIn(
            LoginRequest(flow: .import, secret: saved),
            conversation: ScriptedPerson(memory: bench.memory)
        )
        #expect(outcome.failure?.message.contains("[redacted] is known") == true)
    }
}
