// SPDX-License-Identifier: MIT

import SealedStore
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Answers as the documents of the Security Token Service show them.
struct AWSRoleTests {
    private static let endpoint = "https://sts.eu-west-1.amazonaws.com/"

    private static func role(
        arn: String = "arn:aws:iam::123456789012:role/deploy",
        sessionName: String = "laptop"
    ) -> AWSRole {
        AWSRole(
            arn: arn,
            endpoint: AWSRole.endpoint(in: "eu-west-1"),
            duration: .seconds(3_600),
            sessionName: sessionName
        )
    }

    private static func answer(
        _ secret: String = "s3cr+t/=",
        until: String = "2027-01-15T09:00:00Z"
    ) -> String {
        """
        <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
          <AssumeRoleWithWebIdentityResult>
            <SubjectFromWebIdentityToken>alice</SubjectFromWebIdentityToken>
            <Credentials>
              <SessionToken>AQoDYXdzEE0a8ANXXXX+/=</SessionToken>
              <SecretAccessKey>\(secret)</SecretAccessKey>
              <Expiration>\(until)</Expiration>
              <AccessKeyId>ASgeIAIOSFODNN7EXAMPLE</AccessKeyId>
            </Credentials>
          </AssumeRoleWithWebIdentityResult>
        </AssumeRoleWithWebIdentityResponse>
        """
    }

    private static func bench() throws -> KindBench {
        try KindBench(ServerProfile(kind: .awsRole(role()), client: ClientIdentity("")))
    }

    private static func assume(
        _ bench: KindBench,
        variant: TokenVariant = .primary
    ) async throws -> RefreshOutcome {
        var request = RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: .withoutLogin,
            variant: variant
        )
        request.sources.subject = try bench.secret("id-token-1", .idToken)
        return await bench.server.refresh(request)
    }

    @Test(.holds("187")) func `a token of another session becomes the credentials of a role`() async throws {
        let bench = try Self.bench()
        bench.exchange.expect(Self.endpoint, Self.answer())
        let granted = try #require(try await Self.assume(bench).granted)
        let kept = try #require(try bench.text(granted.accessToken))
        let object = try #require(try JSONValue(parsing: "{\(kept)}".utf8).object)
        #expect(object.members.count == 4)
        #expect(object["AccessKeyId"]?.string == "ASgeIAIOSFODNN7EXAMPLE")
        #expect(object["SecretAccessKey"]?.string == "s3cr+t/=")
        #expect(object["SessionToken"]?.string == "AQoDYXdzEE0a8ANXXXX+/=")
        #expect(object["Expiration"]?.string == "2027-01-15T09:00:00Z")
        #expect(granted.lifetime == .seconds(3_600))
        #expect(
            bench.exchange.sent.first?.form == [
                "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15",
                "RoleArn": "arn:aws:iam::123456789012:role/deploy", "RoleSessionName": "laptop",
                "DurationSeconds": "3600", "WebIdentityToken": "id-token-1",
            ]
        )
    }

    /// When they end by the server's clock, where ours says 2027-01-15T08:00:00Z, and how long they are kept for.
    @Test(arguments: [
        ("2027-01-15T08:20:00Z", 1_200), ("2027-01-15T11:00:00Z", 3_600), ("2027-01-15T07:00:00Z", 3_600),
    ])
    func `a clock that is off makes credentials no older than they are`(
        until: String,
        seconds: Int
    ) async throws {
        let bench = try Self.bench()
        bench.exchange.expect(Self.endpoint, Self.answer(until: until))
        #expect(try await Self.assume(bench).granted?.lifetime == .seconds(seconds))
    }

    @Test(
        arguments: [
            (400, "ExpiredTokenException", FailureClass.grantDead), (400, "InvalidIdentityToken", .grantDead),
            (403, "AccessDenied", .misconfigured), (400, "ValidationError", .misconfigured),
            (400, "IDPCommunicationError", .busy), (400, "Strange", .unexplained),
            (503, "ServiceUnavailable", .busy), (429, "Throttling", .busy), (302, "Moved", .misbehaved),
        ] as [(Int, String, FailureClass)]
    )
    func `refusals mean what the service documents`(
        status: Int,
        code: String,
        kind: FailureClass
    ) async throws {
        let bench = try Self.bench()
        let error = "<Error><Type>Sender</Type><Code>\(code)</Code><Message>not now</Message></Error>"
        bench.exchange.expect(Self.endpoint, status: status, "<ErrorResponse>\(error)</ErrorResponse>")
        let failure = try #require(try await Self.assume(bench).failure)
        #expect(failure.kind == kind)
        #expect(failure.message.contains("\(code): not now"), "\(failure.message)")
    }

    private static let useless: [String] = [
        "", "<html>", "<Credentials></Credentials>", answer(until: "tomorrow"), answer("a b"), answer(""),
        String(repeating: "<", count: 100_000), "<Credentials><AccessKeyId>A</AccessKeyId>",
        answer().replacing("</Credentials>", with: ""),
    ]

    @Test(arguments: useless)
    func `an answer without credentials is none`(text: String) async throws {
        let bench = try Self.bench()
        bench.exchange.expect(Self.endpoint, text)
        #expect(try await Self.assume(bench).failure?.kind == .misbehaved)
    }

    @Test(.holds("187")) func `a role has one set of credentials, no login and no revocation`() async throws {
        let bench = try Self.bench()
        let variant = TokenVariant(scopes: ["more"], audience: nil)
        #expect(try await Self.assume(bench, variant: variant).failure?.kind == .variantRefused)
        #expect(try await bench.logIn().failure?.kind == .misconfigured)
        #expect(try await bench.refresh(.withoutLogin).failure?.kind == .sourceUnavailable)
        let request = RevocationRequest(refreshToken: nil, accessToken: try bench.secret("x", .accessToken))
        guard case .unsupported = await bench.server.revoke(request) else {
            Issue.record("something was revoked")
            return
        }
    }

    @Test(arguments: ["eu-west-1", "us-gov-east-1", "cn-north-1"])
    func `each region has its own service`(region: String) {
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        #expect(AWSRole.endpoint(in: region) == "https://sts.\(region).\(domain)/")
    }

    @Test(arguments: [
        ("arn:aws:iam::123456789012:user/x", "laptop", "role_arn"), ("deploy", "laptop", "role_arn"),
        ("arn:aws:iam::123456789012:role/a b", "laptop", "role_arn"),
        ("arn:aws:iam::123456789012:role/x", "a", "role_session_name"),
        ("arn:aws:iam::123456789012:role/x", "two words", "role_session_name"),
        ("arn:aws:iam::123456789012:role/x", String(repeating: "a", count: 65), "role_session_name"),
    ])
    func `what Amazon would refuse is refused before`(arn: String, sessionName: String, key: String) {
        let kind = ServerProfile.Kind.awsRole(Self.role(arn: arn, sessionName: sessionName))
        #expect(kind.settings.problems.map(\.key) == [key])
    }
}
