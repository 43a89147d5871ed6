// SPDX-License-Identifier: MIT

import Testing
import Text

@testable import OAuthClient
@testable import TokenCore

/// A login that is over, told in whatever words: from the bytes of the response to the notice that a login is required.
struct DeadGrantTests {
    /// A response of the token endpoint to a refresh.
    struct Response: CustomStringConvertible {
        let status: Int
        let body: String
        var headers: [String: String] = [:]

        init(_ status: Int, _ body: String, _ headers: [String: String] = [:]) {
            (self.status, self.body, self.headers) = (status, body, headers)
        }

        var description: String { "\(status) \(headers.isEmpty ? "" : "\(headers) ")\(body)" }
    }

    /// Refusals in words that no standard and no vendor has.
    private static let unknown: [Response] = [
        Response(200, #"{"error":"x_grant_gone"}"#), Response(400, #"{"error":"x_grant_gone"}"#),
        Response(401, #"{"error":"x_grant_gone"}"#), Response(403, #"{"error":"x_grant_gone"}"#),
        Response(200, #"{"error":"über vorbei","error_description":"schade"}"#),
        Response(400, #"{"error":"E-4711","error_description":"please sign in again"}"#),
        Response(400, #"{"error":""}"#), Response(400, #"{"error":7}"#), Response(401, #"{"error":null}"#),
        Response(400, #"{"message":"Refresh token is no longer good"}"#),
        Response(401, #"{"message":"Unauthorized","statusCode":401}"#),
        Response(400, #"{"error":{"code":"GRANT_GONE","message":"signed out elsewhere"}}"#),
        Response(401, #"{"error":{"status":"UNAUTHENTICATED","details":[{"reason":"GONE"}]}}"#),
        Response(200, #"{"error":{"code":4001,"message":"gone"}}"#),
        Response(200, #"{"errors":[{"title":"gone"}]}"#),
        Response(400, #"{"data":{"error":{"kind":"gone"}}}"#), Response(401, #"{"code":"token_gone"}"#),
        Response(400, ""), Response(401, ""), Response(400, "{}"), Response(401, "[]"), Response(400, "null"),
        Response(400, "gone"), Response(401, "\u{FEFF}gone\r\n"), Response(400, #"{"error":"x_grant_go"#),
        Response(400, "error=x_grant_gone"), Response(200, "error=x_grant_gone&error_description=bye"),
        Response(401, "", ["www-authenticate": #"Bearer error="grant_gone""#]),
        Response(400, #"{"error":"invalid_request"}"#), Response(401, #"{"error":"server_error"}"#),
        Response(403, #"{"error":"access_denied"}"#),
    ]

    /// Codes of the specifications and of vendors.
    private static let known: [Response] = [
        "invalid_grant", "invalid_token", "bad_refresh_token", "invalid_refresh_token",
        "refresh_token_expired",
        "expired_refresh_token", "expired_token", "token_expired", "token_revoked", "login_required",
        "consent_required",
    ].flatMap { code in [200, 400, 401, 403].map { Response($0, #"{"error":"\#(code)"}"#) } }

    /// Responses that say nothing about the login; a page may be a captive portal's or a proxy's.
    private static let temporary: [Response] = [
        Response(403, ""), Response(403, "<html>blocked</html>"), Response(403, #"{"message":"blocked"}"#),
        Response(429, #"{"error":"invalid_grant"}"#), Response(429, ""),
        Response(500, #"{"error":"invalid_grant"}"#), Response(503, #"{"error":"x_grant_gone"}"#),
        Response(502, "<html>"), Response(504, ""), Response(404, ""), Response(302, ""),
        Response(511, "<html>"),
        Response(200, "<html>Welcome</html>"), Response(400, "<html><h1>Bad Request</h1></html>"),
        Response(401, "<!doctype html><p>Sign in"), Response(400, "<Error><Code>GrantGone</Code></Error>"),
        Response(401, "Unauthorized", ["content-type": "text/html"]),
        Response(400, #"{"error":"temporarily_unavailable"}"#),
        Response(400, #"{"error":"slow_down"}"#),
    ]

    /// Returns the failure that the client reads from `response`.
    private func failure(_ response: Response) async throws -> RefreshFailure {
        let bench = try Bench(.fixed())
        bench.exchange.expect(
            "https://tokens.example/token",
            .json(response.body, status: response.status, headers: response.headers)
        )
        return try #require(try await bench.refresh().failure)
    }

    /// Refreshes a session with an access token of `lifetime` when it is due, and lets each refresh fail.
    ///
    /// - Returns: the time from the expiry of the access token until a login is required, or `nil` if none is required
    ///   within a day, and the number of requests until then.
    private func run(
        _ failure: RefreshFailure,
        lifetime: Duration,
        jitter: Double
    ) throws -> (delay: Duration?, requests: Int) {
        let name = try #require(SessionName("work"))
        var session = Session(name: name, policy: SessionPolicy())
        var moment = Moment(now: .seconds(1_000_000), wallTime: WallTime(secondsSince1970: 1_800_000_000))
        let refreshToken = SecretID(rawValue: 2)
        let grant = LoginGrant(
            tokens: GrantedTokens(
                accessToken: SecretID(rawValue: 1),
                refreshToken: refreshToken,
                lifetime: lifetime,
                requestedAt: moment.now
            ),
            renewal: .refreshToken(refreshToken),
            tokenEndpoint: "https://tokens.example/token"
        )
        let login = LoginNumber(rawValue: 1)
        _ = session.loginStarted(login, at: moment)
        for case .commit(let number, _) in session.loginFinished(
            login,
            .granted(grant),
            jitter: jitter,
            at: moment
        ) {
            _ = session.commitFinished(number, .durable, at: moment)
        }
        let expiry = moment.now + lifetime
        var requests = 0
        while let wake = session.wakeTime, wake < expiry + .seconds(86_400) {
            let step = max(wake - moment.now, .zero)
            moment = Moment(now: moment.now + step, wallTime: moment.wallTime + step)
            var effects = session.timeReached(moment, jitter: jitter)
            for case .begin(let number) in effects {
                requests += 1
                _ = session.reservationFinished(number, .granted, jitter: jitter, at: moment)
                effects += session.refreshFinished(number, .failed(failure), jitter: jitter, at: moment)
            }
            let isTold = effects.contains {
                if case .notify(let event) = $0 { event.name == .loginRequired } else { false }
            }
            if isTold { return (moment.now - expiry, requests) }
        }
        return (nil, requests)
    }

    private static let lifetimes: [Duration] = [.seconds(60), .seconds(300), .seconds(3_600)]

    private func delays(_ response: Response) async throws -> [(delay: Duration?, requests: Int)] {
        let failure = try await failure(response)
        return try Self.lifetimes.flatMap { lifetime in
            try [0, 0.25, 0.5, 0.75, 0.999].map { try run(failure, lifetime: lifetime, jitter: $0) }
        }
    }

    @Test func `a login that is over is told within two minutes of its token's end, in whatever words`()
        async throws
    {
        var worst = Duration.zero
        for response in Self.unknown {
            for (delay, requests) in try await delays(response) {
                let delay = try #require(delay, "\(response)")
                // Not before: the server may reject only early refreshes.
                #expect(delay >= .seconds(30) && requests >= 3, "\(response): \(delay), \(requests)")
                #expect(delay <= .seconds(120), "\(response): \(delay)")
                worst = max(worst, delay)
            }
        }
        Attachment.record(
            "\(Self.unknown.count) responses: at most \(worst) after the token's end",
            named: "figure"
        )
    }

    @Test(arguments: known) func `a known word ends a login at once`(response: Response) async throws {
        for (delay, requests) in try await delays(response) {
            #expect(requests == 1 && delay.map { $0 < .zero } == true, "\(String(describing: delay))")
        }
    }

    @Test(arguments: temporary) func `what says nothing about a login ends none`(
        response: Response
    ) async throws {
        for (delay, _) in try await delays(response) { #expect(delay == nil) }
    }
}
