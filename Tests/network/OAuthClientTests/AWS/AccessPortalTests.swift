// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Credentials of roles assigned in IAM Identity Center, and logouts, as documented for its access portal.
struct AccessPortalTests {
    private typealias Center = IdentityCenterBench

    /// The owner of the token with which role credentials are requested: the session itself or another session.
    enum Asker: CaseIterable {
        case login
        case role
    }

    private static func answer(
        _ secret: String = "s3cr+t/=",
        expiration: String = "1800003600000"
    ) -> String {
        """
        {"roleCredentials":{"accessKeyId":"ASIAIOSFODNN7EXAMPLE","secretAccessKey":"\(secret)",
         "sessionToken":"IQoJb3JpZ2luX2VjEOz+/=","expiration":\(expiration)}}
        """
    }

    private static func ask(
        _ asker: Asker,
        _ answer: ScriptedExchange.Answer,
        name: String = "ReadOnly"
    ) async throws -> (RefreshOutcome, KindBench) {
        let role = try #require(AssignedAWSRole(account: "111122223333", name: name))
        let bench =
            switch asker {
            case .login: try Center().bench
            case .role:
                try KindBench(
                    ServerProfile(
                        kind: .portalRole(PortalRole(role, portal: Center.portal)),
                        client: ClientIdentity("")
                    )
                )
            }
        bench.exchange.expect(Center.role.replacing("ReadOnly", with: PercentCoding.encoded(name)), answer)
        let token = try bench.secret("access-1", .accessToken)
        var request = RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: .withoutLogin,
            variant: asker == .login ? role.variant : .primary,
            accessToken: asker == .login ? token : nil
        )
        if asker == .role { request.sources.subject = token }
        return (await bench.server.refresh(request), bench)
    }

    @Test(arguments: Asker.allCases)
    func `a login's token becomes the credentials of a role`(asker: Asker) async throws {
        let (outcome, bench) = try await Self.ask(asker, .json(Self.answer()))
        let granted = try #require(outcome.granted)
        let kept = try #require(try bench.text(granted.accessToken))
        let object = try #require(try JSONValue(parsing: "{\(kept)}".utf8).object)
        #expect(object.members.count == 4)
        #expect(object["AccessKeyId"]?.string == "ASIAIOSFODNN7EXAMPLE")
        #expect(object["SecretAccessKey"]?.string == "s3cr+t/=")
        #expect(object["SessionToken"]?.string == "IQoJb3JpZ2luX2VjEOz+/=")
        #expect(object["Expiration"]?.string == "2027-01-15T09:00:00Z")
        #expect(granted.lifetime == .seconds(3_600) && granted.tokenType == "aws")
        #expect(granted.refreshToken == nil && granted.refreshLifetime == nil && granted.fingerprint != nil)
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.method == "GET" && sent.headers["x-amz-sso_bearer_token"] == "access-1")
    }

    @Test func `a name is encoded for its place`() async throws {
        let (outcome, bench) = try await Self.ask(.login, .json(Self.answer()), name: "a+b=c,d.e@f-g_1")
        #expect(outcome.granted != nil)
        #expect(bench.exchange.sent.first?.url.contains("+") == false)
    }

    /// The expiry of the credentials, the response's `Date` header, and the resulting lifetime.
    @Test(
        arguments: [
            ("1800001200000", nil, 1_200), ("1800003600999", nil, 3_600), ("1800090000000", nil, 43_200),
            ("1800003600000", "Fri, 15 Jan 2027 08:30:00 GMT", 1_800),
            ("1799996400000", "Fri, 15 Jan 2027 06:00:00 GMT", 3_600),
        ] as [(String, String?, Int)]
    )
    func `credentials live as long as the server's clock says`(
        expiration: String,
        date: String?,
        seconds: Int
    ) async throws {
        let headers = date.map { ["date": $0] } ?? [:]
        let answer = ScriptedExchange.Answer.json(Self.answer(expiration: expiration), headers: headers)
        let (outcome, _) = try await Self.ask(.role, answer)
        #expect(outcome.granted?.lifetime == .seconds(seconds))
    }

    @Test(
        .holds("188"),
        arguments: [
            (401, "UnauthorizedException", FailureClass.sourceRefused),
            (403, "ForbiddenException", .misconfigured),
            (404, "ResourceNotFoundException", .misconfigured),
            (400, "InvalidRequestException", .misconfigured),
            (429, "TooManyRequestsException", .busy), (500, "InternalServerException", .busy),
            (400, "SomethingNew", .busy), (302, "Moved", .misbehaved), (401, "", .busy), (403, "", .busy),
            (404, "", .busy), (400, "", .busy), (502, "", .ambiguous),
        ] as [(Int, String, FailureClass)]
    )
    func `refusals mean what the portal documents, and a proxy's mean nothing`(
        status: Int,
        exception: String,
        kind: FailureClass
    ) async throws {
        for asker in Asker.allCases {
            let headers = exception.isEmpty ? [:] : ["x-amzn-errortype": exception]
            let body = exception.isEmpty ? "<html>" : #"{"message":"No access"}"#
            let (outcome, _) = try await Self.ask(asker, .json(body, status: status, headers: headers))
            let failure = try #require(outcome.failure)
            #expect(failure.kind == kind, "\(asker) \(failure)")
            if kind == .misconfigured {
                #expect(failure.message.contains("no role ReadOnly in account 111122223333"))
                #expect(failure.remedy?.text.contains("role") == true)
            }
        }
    }

    private static let useless: [String] = [
        "", "[]", "<html>", "{}", #"{"roleCredentials":null}"#, #"{"roleCredentials":[]}"#,
        answer(expiration: "\"2027-01-15T09:00:00Z\""), answer(expiration: "null"),
        answer(expiration: "1e300"), answer(expiration: "-1"), answer(expiration: "9223372036854775807"),
        answer(expiration: "NaN"), answer(expiration: "1799999999000"), answer(expiration: "1800003600.5"),
        answer("a b"), answer(""), answer("a\\u001b[2J"), answer("\\u0000"), answer("é"),
        answer().replacing("accessKeyId", with: "AccessKeyId"), answer().replacing("}}", with: "}"),
        answer(String(repeating: "s", count: 1_000_000)).replacing("sessionToken", with: "x"),
    ]

    @Test(arguments: useless)
    func `an answer without credentials is none`(text: String) async throws {
        let (outcome, _) = try await Self.ask(.login, .json(text))
        #expect(outcome.failure?.kind == .misbehaved)
    }

    @Test func `other variants and other places are refused unasked`() async throws {
        let center = try Center()
        for variant in [
            TokenVariant(scopes: ["sso:account:access"], audience: nil),
            TokenVariant(scopes: [], audience: "https://api.example"),
        ] {
            #expect(try await center.bench.refresh(variant: variant).failure?.kind == .variantRefused)
        }
        let elsewhere = try await center.bench.refresh(tokenEndpoint: "https://oidc.us-east-1.amazonaws.com")
        #expect(elsewhere.failure?.needsLogin == true)
        #expect(center.exchange.sent.isEmpty)
    }

    // MARK: Logout

    @Test func `a logout ends the login at the portal`() async throws {
        let center = try Center()
        let grant = try await center.loggedIn()
        center.exchange.expect("\(Center.portal)/logout", "")
        #expect(await center.revoke(grant) == .revoked)
        let sent = try #require(center.exchange.sent.last)
        #expect(sent.method == "POST" && sent.headers["x-amz-sso_bearer_token"] == "access-1")
        #expect(sent.json?.members.isEmpty == true)
    }

    /// `hasToken`: `true` for an expired access token, `false` for none.
    @Test(arguments: [true, false])
    func `a login without a good access token is renewed to be ended`(hasToken: Bool) async throws {
        let center = try Center()
        let grant = try await center.loggedIn()
        let over = ScriptedExchange.Answer.json(
            #"{"message":"over"}"#,
            status: 401,
            headers: ["x-amzn-errortype": "UnauthorizedException"]
        )
        if hasToken { center.exchange.expect("\(Center.portal)/logout", over) }
        center.expect("/token", Center.tokens(2))
        center.exchange.expect("\(Center.portal)/logout", "")
        #expect(await center.revoke(grant, accessToken: hasToken) == .revoked)
        #expect(center.exchange.sent.last?.headers["x-amz-sso_bearer_token"] == "access-2")
        if hasToken { center.exchange.expect("\(Center.portal)/logout", over) }
        center.expect("/token", Center.refusal("invalid_grant"))
        #expect(await center.revoke(grant, accessToken: hasToken) == .revoked)
        #expect(center.exchange.isExhausted)
    }

    @Test func `a portal that is away is told later`() async throws {
        let center = try Center()
        let grant = try await center.loggedIn()
        center.exchange.expect("\(Center.portal)/logout", status: 503, "")
        guard case .failed = await center.revoke(grant) else {
            Issue.record("the logout was given up")
            return
        }
    }

    @Test(arguments: [
        ("eu-west-1", "https://oidc.eu-west-1.amazonaws.com", "https://portal.sso.eu-west-1.amazonaws.com"),
        (
            "cn-north-1", "https://oidc.cn-north-1.amazonaws.com.cn",
            "https://portal.sso.cn-north-1.amazonaws.com.cn"
        ),
    ])
    func `each region has its own services`(region: String, service: String, portal: String) {
        #expect(IdentityCenter.tokenService(in: region) == service)
        #expect(IdentityCenter.portal(in: region) == portal)
    }
}
