// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Answers of back ends and user pools that bring a new refresh token and no access token that can be used.
struct SavedRenewalTests {
    private static let pool = "https://pool.example/"

    private func backEnd() throws -> KindBench { try KindBench(JSONServerTests.profile()) }

    /// A pool whose client rotates refresh tokens.
    private func rotatingPool() throws -> KindBench {
        let pool = CognitoPool(
            region: "eu-central-1",
            userPoolID: "eu-central-1_pool",
            endpoint: SavedRenewalTests.pool,
            rotates: true
        )
        return try KindBench(
            ServerProfile(kind: .cognito(pool), client: ClientIdentity("cli"), flow: .password)
        )
    }

    private func refreshTokens(in bench: KindBench) -> Int {
        (1...40).count { bench.memory.kind(of: SecretID(rawValue: $0)) == .refreshToken }
    }

    // MARK: Kind json

    @Test(
        .holds("O22"),
        arguments: [
            "", #""accessToken":null,"#, #""accessToken":"","#, #""accessToken":"a\u00e4","#,
            #""accessToken":"a b","#, #""accessToken":"a\r\nb","#, #""accessToken":7,"#,
            #""accessToken":["a"],"#,
            #""code":"OK","#,
        ]
    )
    func `a rolled refresh token is kept where no usable access token comes with it`(
        rest: String
    ) async throws {
        let bench = try backEnd()
        let requestedAt = bench.clock.now
        bench.exchange.expect(
            JSONServerTests.refresh,
            #"{\#(rest)"refreshToken":"rt-2","expiresIn":900,"refreshExpiresIn":600}"#
        )
        let outcome = try await bench.refresh()
        #expect(outcome.failure?.kind == .misbehaved)
        #expect(outcome.failure?.message.hasPrefix("api.example") == true)
        let saved = try #require(outcome.saved)
        #expect(try bench.text(saved.refreshToken) == "rt-2")
        #expect(saved.refreshLifetime == RefreshLifetime(.seconds(600)))
        #expect(saved.requestedAt == requestedAt)
        bench.exchange.expect(JSONServerTests.refresh, #"{"accessToken":"at-3","refreshToken":"rt-3"}"#)
        let next = try await bench.refresh(.refreshToken(saved.refreshToken))
        #expect(try bench.text(next.granted?.refreshToken) == "rt-3")
        #expect(bench.exchange.sent.last?.json == ["refreshToken": "rt-2"])
    }

    @Test(
        arguments: [
            (200, #""refreshToken":"rt-1""#), (200, #""refreshToken":"rt\t2""#), (200, #""refreshToken":"""#),
            (302, #""refreshToken":"rt-2""#), (400, #""refreshToken":"rt-2""#),
            (200, #""refreshToken":"rt-2","requiresReauth":true"#),
            (200, #""accessToken":"at-2","refreshToken":"rt-2","requiresReauth":true"#),
            (200, #""refreshToken":"rt-2","error":"token_revoked""#),
            (200, #""refreshToken":"rt-2","error":"temporarily_unavailable""#),
        ]
    )
    func `nothing is kept of a refusal, nor what is no new refresh token`(
        status: Int,
        members: String
    ) async throws {
        let bench = try backEnd()
        bench.exchange.expect(JSONServerTests.refresh, status: status, "{\(members)}")
        let outcome = try await bench.refresh()
        #expect(outcome.failure != nil)
        #expect(outcome.saved == nil)
        let isEnd = members.contains("requiresReauth") || members.contains("token_revoked")
        #expect((outcome.failure?.kind == .sessionOver) == isEnd)
        #expect(refreshTokens(in: bench) == 1)
    }

    @Test(arguments: ["1e300", "-1", #""soon""#, "{}", "null"])
    func `a life that nobody can believe costs neither token`(expiry: String) async throws {
        let bench = try backEnd()
        bench.exchange.expect(
            JSONServerTests.refresh,
            #"{"accessToken":"at-2","refreshToken":"rt-2","expiresIn":\#(expiry),"refreshExpiresIn":\#(expiry)}"#
        )
        let granted = try #require(try await bench.refresh().granted)
        #expect(try bench.text(granted.refreshToken) == "rt-2")
    }

    @Test func `an import and a logout leave nothing behind of an answer that cannot be used`() async throws {
        let bench = try backEnd()
        bench.exchange.expect(JSONServerTests.refresh, #"{"refreshToken":"rt-2"}"#)
        #expect(try await bench.logIn(.import, secret: "rt-0").failure?.kind == .misbehaved)
        bench.exchange.expect(JSONServerTests.logout, status: 401, #"{"error":"access_token_expired"}"#)
        bench.exchange.expect(JSONServerTests.refresh, #"{"refreshToken":"rt-2"}"#)
        #expect(try await bench.revoke() != .revoked)
        // What was imported, and what the logout was given.
        #expect(refreshTokens(in: bench) == 2)
    }

    // MARK: Kind cognito

    @Test(
        .holds("O22"),
        arguments: [
            ("", .misbehaved), (#""AccessToken":null,"#, .misbehaved), (#""AccessToken":"","#, .misbehaved),
            (#""AccessToken":"a\u00e4","#, .misbehaved), (#""AccessToken":7,"#, .misbehaved),
            (#""AccessToken":"at-2","TokenType":"mac","#, .misconfigured),
        ] as [(String, FailureClass)]
    )
    func `a rotated refresh token is kept where no usable access token comes with it`(
        rest: String,
        kind: FailureClass
    ) async throws {
        let bench = try rotatingPool()
        let requestedAt = bench.clock.now
        let address = SavedRenewalTests.pool
        bench.exchange.expect(address, #"{"AuthenticationResult":{\#(rest)"RefreshToken":"rt-2"}}"#)
        let outcome = try await bench.refresh()
        #expect(outcome.failure?.kind == kind)
        #expect(outcome.failure?.message.hasPrefix("Cognito: ") == true)
        let saved = try #require(outcome.saved)
        #expect(try bench.text(saved.refreshToken) == "rt-2")
        #expect(saved.refreshLifetime == nil)
        #expect(saved.requestedAt == requestedAt)
        bench.exchange.expect(
            address,
            #"{"AuthenticationResult":{"AccessToken":"at-3","RefreshToken":"rt-3"}}"#
        )
        let next = try await bench.refresh(.refreshToken(saved.refreshToken))
        #expect(try bench.text(next.granted?.refreshToken) == "rt-3")
        #expect(bench.exchange.sent.last?.json?["RefreshToken"] == "rt-2")
    }

    @Test(arguments: ["7", "\"a b\"", "\"a\\n\"", "{}"])
    func `an ID token that cannot be read costs itself alone at a refresh`(token: String) async throws {
        let bench = try rotatingPool()
        bench.exchange.expect(
            SavedRenewalTests.pool,
            #"{"AuthenticationResult":{"AccessToken":"at-2","RefreshToken":"rt-2","IdToken":\#(token)}}"#
        )
        let granted = try #require(try await bench.refresh().granted)
        #expect(try bench.text(granted.accessToken) == "at-2")
        #expect(try bench.text(granted.refreshToken) == "rt-2")
        #expect(granted.idToken == nil)
        #expect(granted.remarks.map(\.kind) == [.idTokenDropped])
    }

    @Test(arguments: [
        #"{"AuthenticationResult":{"RefreshToken":"rt-1"}}"#, #"{"AuthenticationResult":{}}"#,
        #"{"ChallengeName":"SMS_MFA"}"#,
    ])
    func `a pool's answer without a new refresh token keeps the old one`(answer: String) async throws {
        let bench = try rotatingPool()
        bench.exchange.expect(SavedRenewalTests.pool, answer)
        let outcome = try await bench.refresh()
        #expect(outcome.failure?.kind == .misbehaved)
        #expect(outcome.saved == nil)
        #expect(refreshTokens(in: bench) == 1)
    }
}
