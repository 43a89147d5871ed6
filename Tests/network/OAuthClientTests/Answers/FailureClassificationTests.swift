// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

struct FailureClassificationTests {
    /// One answer and its class.
    struct Row: Sendable, CustomTestStringConvertible {
        var status: Int
        var body = ""
        var headers: [String: String] = [:]
        var kind: FailureClass
        var retryAfter: Duration?
        var minimumDelay: Duration?

        var testDescription: String { "\(status) \(body.prefix(60)) \(headers)" }

        static func error(_ status: Int, _ code: String, _ kind: FailureClass) -> Row {
            Row(status: status, body: #"{"error":"\#(code)"}"#, kind: kind)
        }
    }

    static let rows: [Row] = [
        // RFC 6749 §5.2
        .error(400, "invalid_grant", .grantDead), .error(401, "invalid_grant", .grantDead),
        .error(403, "invalid_grant", .grantDead), .error(400, "invalid_client", .clientRejected),
        .error(401, "invalid_client", .clientRejected),
        .error(400, "unauthorized_client", .clientUnauthorized),
        .error(400, "unsupported_grant_type", .misconfigured), .error(400, "invalid_scope", .variantRefused),
        .error(400, "invalid_request", .unexplained), .error(400, "access_denied", .interactionRequired),
        // RFC 8707 §2
        .error(400, "invalid_target", .variantRefused),
        // INDIGO IAM's word for a dead refresh token
        .error(401, "invalid_token", .grantDead), .error(400, "invalid_token", .grantDead),
        // OIDC Core §3.1.2.6
        .error(400, "interaction_required", .interactionRequired),
        .error(400, "login_required", .interactionRequired),
        .error(400, "consent_required", .interactionRequired),
        // Entra and Google say why in a second member
        Row(
            status: 400,
            body: #"{"error":"invalid_grant","suberror":"consent_required"}"#,
            kind: .interactionRequired
        ),
        Row(
            status: 400,
            body: #"{"error":"invalid_grant","suberror":"mfa_required"}"#,
            kind: .interactionRequired
        ),
        Row(
            status: 400,
            body: #"{"error":"invalid_grant","error_subtype":"invalid_rapt"}"#,
            kind: .interactionRequired
        ),
        Row(status: 400, body: #"{"error":"invalid_grant","suberror":"bad_token"}"#, kind: .grantDead),
        // RFC 9449 §5, §8: no proof is ever sent
        .error(400, "use_dpop_nonce", .misconfigured), .error(400, "invalid_dpop_proof", .misconfigured),
        // Patience, at any status
        .error(400, "temporarily_unavailable", .busy), .error(500, "server_error", .busy),
        .error(400, "slow_down", .busy), .error(503, "temporarily_unavailable", .busy),
        .error(502, "temporarily_unavailable", .busy), .error(400, "internal_failure", .busy),
        // A code nobody has defined is a refusal, which has to come again and again
        .error(400, "ErrSomething", .unexplained), .error(403, "invalid_code", .unexplained),
        .error(400, "x_grant_gone", .unexplained), .error(200, "x_grant_gone", .unexplained),
        .error(401, "server_error", .unexplained), .error(401, "internal_failure", .unexplained),
        // Firewalls say it too
        .error(403, "access_denied", .unexplained),
        // Vendors' words for a dead refresh token
        Row(
            status: 200,
            body: """
                {"error":"bad_refresh_token","error_description":"The refresh token passed is incorrect or expired."}
                """,
            kind: .grantDead
        ),
        .error(400, "invalid_refresh_token", .grantDead), .error(401, "token_expired", .grantDead),
        .error(400, "expired_token", .grantDead), .error(500, "bad_refresh_token", .busy),
        .error(429, "bad_refresh_token", .busy),
        // Atlassian's
        Row(
            status: 403,
            body: #"{"error":"unauthorized_client","error_description":"refresh_token is invalid"}"#,
            kind: .clientUnauthorized
        ),
        // Some vendors answer 200 with an error
        .error(200, "invalid_grant", .grantDead), .error(200, "temporarily_unavailable", .busy),
        // 5xx, 429, 408, 407 are not the grant's death whatever the body says
        .error(500, "invalid_grant", .busy), .error(503, "invalid_grant", .busy),
        .error(429, "invalid_grant", .busy),
        .error(408, "invalid_grant", .busy), .error(407, "invalid_grant", .busy),
        .error(502, "invalid_grant", .ambiguous), .error(422, "invalid_grant", .busy),
        Row(status: 404, body: #"{"error":"invalid_grant"}"#, kind: .busy, minimumDelay: .seconds(15)),
        Row(status: 410, body: #"{"error":"access_denied"}"#, kind: .busy, minimumDelay: .seconds(15)),
        // 2xx without a token
        Row(status: 200, kind: .misbehaved), Row(status: 200, body: "<html>Welcome", kind: .misbehaved),
        Row(status: 200, body: #"{"token_type":"bearer"}"#, kind: .misbehaved),
        Row(status: 204, kind: .misbehaved),
        Row(status: 200, body: #"{"access_token":"a","access_token":"b"}"#, kind: .misbehaved),
        Row(status: 206, body: #"{"access_token":"a"}"#, kind: .misbehaved),
        // Redirects
        Row(status: 301, kind: .misbehaved), Row(status: 302, kind: .misbehaved),
        Row(status: 307, kind: .misbehaved),
        // Without OAuth JSON
        Row(status: 400, kind: .unexplained), Row(status: 401, kind: .unexplained),
        Row(status: 400, body: #"{"message":"Bad Request"}"#, kind: .unexplained),
        Row(status: 400, body: #"{"error":{"code":400}}"#, kind: .unexplained),
        Row(status: 400, body: "<html>", kind: .busy, minimumDelay: .seconds(60)),
        Row(
            status: 401,
            headers: ["content-type": "text/html; charset=utf-8"],
            kind: .busy,
            minimumDelay: .seconds(60)
        ),
        Row(status: 401, headers: ["www-authenticate": "Basic realm=\"x\""], kind: .clientRejected),
        Row(status: 401, headers: ["www-authenticate": "Bearer"], kind: .unexplained),
        Row(status: 403, kind: .busy, minimumDelay: .seconds(60)),
        Row(status: 404, kind: .busy, minimumDelay: .seconds(15)),
        Row(status: 405, kind: .busy, minimumDelay: .seconds(15)),
        Row(status: 410, kind: .busy, minimumDelay: .seconds(15)), Row(status: 407, kind: .busy),
        Row(status: 511, kind: .busy),
        Row(status: 408, kind: .busy), Row(status: 425, kind: .busy), Row(status: 429, kind: .busy),
        Row(status: 413, kind: .misconfigured), Row(status: 431, kind: .misconfigured),
        Row(status: 418, kind: .busy),
        Row(status: 500, kind: .busy), Row(status: 501, kind: .busy), Row(status: 503, kind: .busy),
        Row(status: 502, kind: .ambiguous), Row(status: 504, kind: .ambiguous),
        Row(status: 522, kind: .ambiguous),
        // Retry-After
        Row(status: 503, headers: ["retry-after": "7"], kind: .busy, retryAfter: .seconds(7)),
        Row(status: 429, headers: ["retry-after": "86400"], kind: .busy, retryAfter: .seconds(3_600)),
        Row(
            status: 403,
            headers: ["retry-after": "5"],
            kind: .busy,
            retryAfter: .seconds(5),
            minimumDelay: .seconds(60)
        ),
        Row(
            status: 403,
            headers: ["retry-after": "120"],
            kind: .busy,
            retryAfter: .seconds(120),
            minimumDelay: .seconds(60)
        ),
    ]

    @Test(.holds("78"), arguments: rows)
    func `an answer without a token has one meaning`(row: Row) async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(
            "https://tokens.example/token",
            status: row.status,
            row.body,
            headers: row.headers
        )
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.kind == row.kind)
        #expect(failure.retryAfter == row.retryAfter)
        #expect(failure.minimumDelay == row.minimumDelay)
        #expect(failure.message.utf8.count <= ServerText.limit)
        #expect(bench.exchange.sent.count == 1)
    }

    @Test(
        .holds("78"),
        arguments: [
            (TransportFailure.unreachable("x"), FailureClass.unreachable), (.insecure("x"), .insecure),
            (.ambiguous("x"), .ambiguous), (.oversized("x"), .misbehaved),
            (.misconfigured("x"), .misconfigured),
        ]
    )
    func `a broken exchange keeps what it says about the request`(
        failure: TransportFailure,
        kind: FailureClass
    ) async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect("https://tokens.example/token", .failure(failure))
        #expect(try await bench.refresh().failure?.kind == kind)
    }

    @Test(
        .holds("80"),
        arguments: [
            ("0", Duration.seconds(1)), ("1", .seconds(1)), ("90", .seconds(90)), ("3601", .seconds(3_600)),
            ("1000000000", .seconds(3_600)), ("99999999999999999999", .seconds(3_600)), ("-1", nil),
            ("soon", nil), ("", nil),
            ("1.5", nil), ("Fri, 15 Jan 2027 08:01:00 GMT", .seconds(60)),
            ("Friday, 15-Jan-27 08:01:00 GMT", .seconds(60)), ("Fri Jan 15 08:01:00 2027", .seconds(60)),
            ("Fri, 15 Jan 2027 07:00:00 GMT", .seconds(1)),
            ("Sat, 16 Jan 2027 08:00:00 GMT", .seconds(3_600)), ("Fri, 32 Jan 2027 08:01:00 GMT", nil),
        ]
    )
    func `Retry-After is clamped or ignored`(value: String, expected: Duration?) {
        // 2027-01-15 08:00:00 UTC
        #expect(RetryAfter.read(value, at: WallTime(secondsSince1970: 1_800_000_000)) == expected)
    }

    @Test(
        .holds("80"),
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Int64(784_111_777)), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000), ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            // The obsolete forms, which a recipient must read (RFC 9110 §5.6.7).
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Thursday, 29-Feb-24 12:00:00 GMT", 1_709_208_000),
            ("Thu Feb 29 12:00:00 2024", 1_709_208_000), ("Wed Mar 01 00:00:00 2000", 951_868_800),
        ]
    )
    func `HTTP dates are read`(text: String, seconds: Int64) {
        #expect(HTTPDate.read(text) == seconds)
    }

    @Test(
        .holds("80"),
        arguments: [
            "", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37", "Sun Nov 6 08:49 1994",
            "Sun, Nov 6 08:49:37 1994", "Sun Nov 6 08:49:37 94", "Sun, 06-Nov 94 08:49:37 GMT",
            "Sunday, 32-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-94-1 08:49:37 GMT", "Sun Nov 6 24:49:37 1994",
        ]
    )
    func `what is no HTTP date is none`(text: String) {
        #expect(HTTPDate.read(text) == nil)
    }
}
