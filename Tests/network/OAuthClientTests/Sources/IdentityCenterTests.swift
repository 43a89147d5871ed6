// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Logins to IAM Identity Center, and the registration of their clients.
struct IdentityCenterTests {
    private typealias Center = IdentityCenterBench

    /// Returns the failure of a refresh with the response `answer`.
    private static func failure(of answer: ScriptedExchange.Answer) async throws -> RefreshFailure {
        let center = try Center()
        let grant = try await center.loggedIn()
        center.expect("/token", answer)
        return try #require(await center.refresh(grant).failure)
    }

    @Test(.holds("188")) func `a login registers a client, shows a code and brings a rolling refresh token`()
        async throws
    {
        let center = try Center.showingCode()
        center.expect("/token", Center.refusal("authorization_pending"))
        center.expect("/token", Center.tokens())
        let person = ScriptedPerson(memory: center.bench.memory)
        let grant = try #require(await center.logIn(person).granted)
        #expect(
            person.steps == [
                .userCode(
                    code: "ABCD-EFGH",
                    verificationURI: "https://device.sso.eu-west-1.amazonaws.com/",
                    complete: "https://device.sso.eu-west-1.amazonaws.com/?user_code=ABCD-EFGH",
                    expiresIn: .seconds(600)
                )
            ]
        )
        #expect(try center.bench.text(grant.tokens.accessToken) == "access-1")
        #expect(try center.bench.text(grant.tokens.refreshToken) == "refresh-1")
        #expect(grant.renewal == grant.tokens.refreshToken.map(RenewalMethod.refreshToken))
        #expect(grant.tokens.lifetime == .seconds(3_600) && grant.tokens.scope == ["sso:account:access"])
        #expect(grant.tokens.refreshLifetime == RefreshLifetime(Center.day * 90 - .seconds(2)))
        #expect(grant.server == DiscoveredServer(issuer: Center.service, client: "client-1"))
        let registration: JSONObject = [
            "clientName": "tokenagent", "clientType": "public", "scopes": ["sso:account:access"],
        ]
        #expect(center.bodies(to: "/client/register") == [registration])
        let start: JSONObject = [
            "clientId": "client-1", "clientSecret": "client-secret-1", "startUrl": .string(Center.start),
        ]
        #expect(center.bodies(to: "/device_authorization") == [start])
        let token: JSONObject = [
            "clientId": "client-1", "clientSecret": "client-secret-1",
            "grantType": "urn:ietf:params:oauth:grant-type:device_code", "deviceCode": "device-code-1",
        ]
        #expect(center.bodies(to: "/token") == [token, token])
    }

    @Test func `a refresh spends one token and brings the next, and moves no end`() async throws {
        let center = try Center()
        let grant = try await center.loggedIn()
        center.bench.clock.advance(by: Center.day)
        center.expect("/token", Center.tokens(2))
        let granted = try #require(await center.refresh(grant).granted)
        #expect(try center.bench.text(granted.refreshToken) == "refresh-2")
        #expect(granted.refreshLifetime == RefreshLifetime(Center.day * 89 - .seconds(1)))
        let sent = try #require(center.bodies(to: "/token").last)
        #expect(sent["grantType"]?.string == "refresh_token" && sent["refreshToken"]?.string == "refresh-1")
        #expect(sent["clientSecret"]?.string == "client-secret-1")
    }

    /// The days since the registration, and the number of the client that another login uses.
    @Test(.holds("188"), arguments: [(0, 1), (59, 1), (61, 2), (89, 2), (91, 2)])
    func `a client is registered anew before its time is over`(days: Int, number: Int) async throws {
        let center = try Center()
        let first = try await center.loggedIn()
        center.bench.clock.advance(by: Center.day * days)
        let second = try await center.loggedIn(number, registering: number == 2)
        #expect(second.server?.client == "client-\(number)")
        #expect(center.bodies(to: "/client/register").count == number)
        // A login with the old registration keeps it until it expires.
        if days < 90 { center.expect("/token", Center.tokens(3)) }
        let outcome = await center.refresh(first)
        #expect((outcome.granted != nil) == (days < 90))
        #expect(outcome.failure.map { $0.kind == .clientUnknown } ?? true)
    }

    @Test(.holds("188")) func `a forgotten client is registered anew, once a login`() async throws {
        let center = try Center()
        let first = try await center.loggedIn()
        center.expect("/device_authorization", Center.refusal("invalid_client", status: 401))
        let second = try await center.loggedIn(2)
        #expect(second.server?.client == "client-2")
        for number in 3...4 {
            center.expect("/device_authorization", Center.refusal("invalid_client", status: 401))
            if number == 3 { center.expect("/client/register", center.client(3)) }
        }
        #expect(await center.logIn().failure?.code == "invalid_client")
        #expect(center.exchange.isExhausted)
        #expect(await center.refresh(first).failure?.kind == .clientUnknown)
    }

    /// Polls with errors that are reported only in the header or only in the body.
    @Test func `the pace of the polls is what the service wants`() async throws {
        let center = try Center.showingCode()
        center.expect(
            "/token",
            .json("{}", status: 400, headers: ["x-amzn-errortype": "AuthorizationPendingException"])
        )
        center.expect("/token", Center.refusal("slow_down"))
        center.expect("/token", .json("", status: 503))
        center.expect("/token", Center.tokens())
        #expect(await center.logIn().granted != nil)
        #expect(center.bench.clock.slept == [1, 1, 6, 12].map { .seconds($0) })
    }

    @Test(
        arguments: [
            ("access_denied", 400, FailureClass.interactionRequired),
            ("expired_token", 400, .interactionRequired),
            ("invalid_grant", 400, .grantDead), ("unauthorized_client", 400, .clientUnauthorized),
        ] as [(String, Int, FailureClass)]
    )
    func `a refusal ends the login`(code: String, status: Int, kind: FailureClass) async throws {
        let center = try Center.showingCode()
        center.expect("/token", Center.refusal(code, status: status))
        let failure = await center.logIn().failure
        #expect(failure?.kind == kind && failure?.code == code)
    }

    @Test func `a wrong start address is told with its key`() async throws {
        let center = try Center()
        center.expect("/client/register", center.client())
        center.expect("/device_authorization", Center.refusal("invalid_request"))
        let failure = await center.logIn().failure
        #expect(failure?.kind == .misconfigured && failure?.remedy?.text.contains("start_url") == true)
    }

    @Test(
        arguments: [
            (400, "invalid_grant", FailureClass.grantDead), (400, "expired_token", .grantDead),
            (401, "invalid_client", .clientUnknown), (400, "unauthorized_client", .clientUnauthorized),
            (400, "access_denied", .interactionRequired), (400, "slow_down", .busy),
            (400, "invalid_request", .unexplained), (500, "server_error", .busy), (429, "throttled", .busy),
            (400, "something_new", .unexplained), (401, "server_error", .unexplained),
            (403, "access_denied", .unexplained),
        ] as [(Int, String, FailureClass)]
    )
    func `refusals of a refresh mean what they mean in OAuth`(
        status: Int,
        code: String,
        kind: FailureClass
    ) async throws {
        let failure = try await Self.failure(of: Center.refusal(code, status: status))
        #expect(failure.kind == kind, "\(failure)")
    }

    @Test(
        arguments: [
            (400, "InvalidGrantException", FailureClass.grantDead),
            (400, "ExpiredTokenException", .grantDead),
            (401, "InvalidClientException:http://internal.amazon.com/", .clientUnknown),
            (400, "ThrottlingException", .busy), (403, "", .busy), (400, "", .unexplained),
            (400, "SomethingNewException", .unexplained),
        ] as [(Int, String, FailureClass)]
    )
    func `where the body says nothing the header counts`(
        status: Int,
        exception: String,
        kind: FailureClass
    ) async throws {
        let headers = exception.isEmpty ? [:] : ["x-amzn-errortype": exception]
        let failure = try await Self.failure(
            of: .json(#"{"message":null}"#, status: status, headers: headers)
        )
        #expect(failure.kind == kind)
    }

    @Test(.holds("188")) func `a refresh token beside an answer that is no use is kept`() async throws {
        let center = try Center()
        let grant = try await center.loggedIn()
        for answer in [
            #"{"refreshToken":"refresh-2"}"#, #"{"accessToken":17,"refreshToken":"refresh-2"}"#,
            #"{"accessToken":"a b","refreshToken":"refresh-2"}"#,
            #"{"accessToken":"x","tokenType":"mac","refreshToken":"refresh-2"}"#,
        ] {
            center.expect("/token", .json(answer))
            let saved = try #require(await center.refresh(grant).saved, "\(answer)")
            #expect(try center.bench.text(saved.refreshToken) == "refresh-2")
        }
    }

    private static let uselessClients: [String] = [
        "", "[]", "<html>", "{}", #"{"clientId":"c"}"#, #"{"clientId":"","clientSecret":"s"}"#,
        #"{"clientId":7,"clientSecret":"s"}"#, #"{"clientId":"a\u001b","clientSecret":"s"}"#,
        #"{"clientId":"c","clientSecret":{}}"#,
        #"{"clientId":"c","clientSecret":"\#(String(repeating: "s", count: 17_000))"}"#,
        #"{"clientId":"\#(String(repeating: "c", count: 1_000_000))","clientSecret":"s"}"#,
    ]

    @Test(arguments: uselessClients)
    func `a client that cannot be used is none`(text: String) async throws {
        let center = try Center()
        center.expect("/client/register", .json(text))
        #expect(await center.logIn().failure?.kind == .misbehaved)
    }

    /// The registration's expiry in the response, and the resulting lifetime in seconds, or `nil` if it is ignored.
    @Test(
        arguments: [
            ("null", nil), ("\"soon\"", nil), ("0", nil), ("-5", nil), ("1e300", nil), ("9e99999", nil),
            ("1800000100", 99), ("1800000100.9", 99), ("900000000000000", 315_360_000), ("1700000000", 0),
        ] as [(String, Int?)]
    )
    func `an end that makes no sense does no harm`(end: String, seconds: Int?) async throws {
        let center = try Center()
        let text = #"{"clientId":"c","clientSecret":"s","clientSecretExpiresAt":\#(end)}"#
        center.expect("/client/register", .json(text))
        center.expect("/device_authorization", Center.device)
        center.expect("/token", Center.tokens())
        let grant = try #require(await center.logIn().granted)
        #expect(grant.tokens.refreshLifetime == seconds.map { RefreshLifetime(.seconds($0)) })
    }

    @Test func `only the device flow logs in`() async throws {
        let center = try Center()
        for flow in LoginFlow.allCases where flow != .device {
            let outcome = try await center.bench.logIn(flow)
            #expect(outcome.failure?.kind == .misconfigured)
        }
        #expect(center.exchange.sent.isEmpty)
    }

    @Test(.holds("188")) func `what the service repeats of our secrets is taken out`() async throws {
        let center = try Center()
        let grant = try await center.loggedIn()
        let kind = center.bench.server.profile.kind
        let server = RedactingServer(
            server: center.bench.server,
            names: ExchangeSecrets.ParameterNames(kind),
            memory: center.bench.memory
        )
        center.expect("/token", Center.refusal("invalid_grant", "saw refresh-1 of client-secret-1"))
        let message = try #require(await center.refresh(grant, at: server).failure?.message)
        #expect(!message.contains("refresh-1") && !message.contains("client-secret-1"), "\(message)")
        #expect(message.contains("invalid_grant: saw"), "\(message)")
    }
}
