// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

struct AgentTokenTests {
    let endpoint = "https://tokens.example/token"

    func refresh(_ body: String) async throws -> (Bench, RefreshOutcome) {
        let bench = try Bench(.fixed())
        bench.exchange.expect(endpoint, body)
        return (bench, try await bench.refresh())
    }

    @Test(
        .holds("103", "110", "O20"),
        arguments: [
            ("3600", Duration?.some(.seconds(3_600))), ("\"3600\"", .seconds(3_600)),
            ("3599.0", .seconds(3_599)),
            ("3599.9", .seconds(3_599)), ("3.6e3", .seconds(3_600)),
            ("1", .seconds(1)),
            ("1e400", LifetimeParser.longest), ("9223372036854775808", LifetimeParser.longest),
            // Unreadable counts as missing, and so does what no token lives.
            ("0", nil), ("-5", nil), ("\"0\"", nil), ("\"-1\"", nil), ("0.5", nil),
            ("null", nil), ("true", nil), ("\"soon\"", nil), ("\"\"", nil), ("\" 60\"", .seconds(60)),
            ("[60]", nil), ("\"nan\"", nil), ("\"0x10\"", nil),
        ]
    )
    func `expires_in is taken as servers write it`(literal: String, lifetime: Duration?) async throws {
        let (_, outcome) = try await refresh(
            #"{"access_token":"at","token_type":"bearer","expires_in":\#(literal)}"#
        )
        #expect(outcome.granted?.lifetime == lifetime)
    }

    /// Claims of an access token, and the lifetime they mean at 1,800,000,000.
    @Test(
        .holds("110", "O20"),
        arguments: [
            (#"{"exp":1800000600}"#, Duration?.some(.seconds(600))),
            (#"{"exp":1800000600,"iat":1800000000}"#, .seconds(600)),
            // Our clock is ten minutes fast, then two years slow: the whole life counts.
            (#"{"exp":1799999700,"iat":1799999400}"#, .seconds(300)),
            (#"{"exp":1863072300,"iat":1863072000}"#, .seconds(300)), (#"{"exp":1700000000}"#, .zero),
            (#"{"exp":"never"}"#, nil), (#"{"exp":1e300}"#, nil),
            (#"{}"#, nil),
        ]
    )
    func `without expires_in a JWT's exp counts`(claims: String, lifetime: Duration?) async throws {
        let token =
            [#"{"alg":"none"}"#, claims].map { Base64.urlEncoded($0.utf8) }.joined(separator: ".") + "."
        let (_, outcome) = try await refresh(#"{"access_token":"\#(token)","token_type":"bearer"}"#)
        #expect(outcome.granted?.lifetime == lifetime)
    }

    /// Claims of an access token that comes with an `expires_in` of 50, and the lifetime they mean together.
    @Test(
        .holds("O29"),
        arguments: [
            (#"{"exp":1800000030,"iat":1800000000}"#, 30), (#"{"exp":1800000090,"iat":1800000000}"#, 50),
            // A clock that is off, theirs or ours, changes nothing.
            (#"{"exp":1700000030,"iat":1700000000}"#, 30), (#"{"exp":1}"#, 50),
            (#"{"exp":1800000000,"iat":1800000030}"#, 50), (#"{"exp":"soon","iat":1800000000}"#, 50),
        ]
    )
    func `a token lives the shorter of expires_in and what its JWT says`(
        claims: String,
        seconds: Int
    ) async throws {
        let token = Self.jwt(claims)
        let (_, outcome) = try await refresh(#"{"access_token":"\#(token)","expires_in":50}"#)
        #expect(outcome.granted?.lifetime == .seconds(seconds))
    }

    /// Claims of an ID token, the server's clock if its answer shows it, and what is left at 1,800,000,000.
    @Test(arguments: [
        (#"{"exp":1800000600,"iat":1800000000}"#, Int64?.none, Duration?.some(.seconds(600))),
        // Our clock is off, and the answer shows no other one: it was issued just now.
        (#"{"exp":1799999700,"iat":1799999400}"#, nil, .seconds(300)),
        (#"{"exp":1863072300,"iat":1863072000}"#, nil, .seconds(300)), (#"{"exp":1700000000}"#, nil, .zero),
        // By the server's clock it was issued a while ago, or has ended.
        (#"{"exp":1863072300,"iat":1863072000}"#, 1_863_072_100, .seconds(200)),
        (#"{"exp":1799999700,"iat":1799999400}"#, 1_799_999_699, .seconds(1)),
        (#"{"exp":1800000600,"iat":1800000000}"#, 1_800_000_600, .zero),
        (#"{"exp":1800000600,"iat":1800000000}"#, 1_799_990_000, .seconds(600)),
        (#"{"exp":1800000600.5}"#, 1_800_000_000, .seconds(600)),
        (#"{"exp":900000000000000}"#, 1_800_000_000, LifetimeParser.longest),
        (#"{"exp":1e300,"iat":1800000000}"#, nil, nil), (#"{"exp":"soon"}"#, 1_800_000_000, nil),
        (#"{}"#, nil, nil),
    ])
    func `an ID token lives as long as its own claims say`(
        claims: String,
        serverTime: Int64?,
        lifetime: Duration?
    ) throws {
        var answer = try TokenResponse(
            try #require(JSONValue(parsing: #"{"access_token":"at"}"#.utf8).object)
        )
        answer.serverTime = serverTime.map { WallTime(secondsSince1970: $0) }
        let now = WallTime(secondsSince1970: 1_800_000_000)
        #expect(TokenLifetime.ofIDToken(Self.jwt(claims), in: answer, at: now) == lifetime)
    }

    @Test func `the end of an ID token is kept beside that of the access token`() async throws {
        let issuer = try await TestIssuer()
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        bench.exchange.always(TestIssuer.keySetURL, .json(issuer.keySet))
        let idToken = try issuer.idToken()
        bench.exchange.expect(
            TestIssuer.tokenEndpoint,
            #"{"access_token":"at","expires_in":3600,"id_token":"\#(idToken)"}"#
        )
        let outcome = try await bench.refresh(idToken: idToken, tokenEndpoint: TestIssuer.tokenEndpoint)
        let granted = try #require(outcome.granted)
        #expect(granted.lifetime == .seconds(3_600))
        #expect(granted.idToken?.life.lifetime == .seconds(300))
    }

    /// Members of an answer, and how long its refresh token lives.
    @Test(arguments: [
        (#""refresh_expires_in":1800,"refresh_token":"rt-2""#, RefreshLifetime?.some(.init(.seconds(1_800)))),
        (#""refresh_token_expires_in":1800,"refresh_token":"rt-2""#, .init(.seconds(1_800))),
        (#""refresh_token":"rt-2""#, nil),
        (
            #""refresh_token":"\#(jwt(#"{"exp":1800000900,"iat":1800000000}"#))""#,
            .init(.seconds(900), source: .presumed)
        ),
        (#""refresh_token":"\#(jwt(#"{"iat":1800000000}"#))""#, nil),
    ])
    func `the end of a refresh token is taken from wherever the answer tells it`(
        members: String,
        lifetime: RefreshLifetime?
    ) async throws {
        let (_, outcome) = try await refresh(#"{"access_token":"at",\#(members)}"#)
        #expect(try #require(outcome.granted).refreshLifetime == lifetime)
    }

    @Test func `the same token is known again by its fingerprint`() async throws {
        let (_, first) = try await refresh(#"{"access_token":"at-1"}"#)
        let (_, same) = try await refresh(#"{"access_token":"at-1"}"#)
        let (_, other) = try await refresh(#"{"access_token":"at-2"}"#)
        let print = try #require(first.granted?.fingerprint)
        #expect(same.granted?.fingerprint == print)
        #expect(other.granted?.fingerprint != print)
    }

    static func jwt(_ claims: String) -> String {
        [#"{"alg":"none"}"#, claims].map { Base64.urlEncoded($0.utf8) }.joined(separator: ".") + "."
    }

    @Test(
        .holds("68", "O23"),
        arguments: [
            #"{"access_token":"at"}"#, #"{"access_token":"at","refresh_token":null}"#,
            #"{"access_token":"at","refresh_token":""}"#,
        ]
    )
    func `no refresh token in the answer keeps the old one`(body: String) async throws {
        let (_, outcome) = try await refresh(body)
        let granted = try #require(outcome.granted)
        #expect(granted.refreshToken == nil)
        #expect(!granted.refreshTokenUnchanged)
    }

    @Test(.holds("68", "O23")) func `the same refresh token is told from a new one`() async throws {
        let (_, same) = try await refresh(#"{"access_token":"at","refresh_token":"rt-1"}"#)
        #expect(same.granted?.refreshToken == nil)
        #expect(same.granted?.refreshTokenUnchanged == true)
        let (bench, changed) = try await refresh(#"{"access_token":"at","refresh_token":"rt-2"}"#)
        #expect(try bench.text(changed.granted?.refreshToken) == "rt-2")
        #expect(bench.memory.kind(of: try #require(changed.granted?.refreshToken)) == .refreshToken)
    }

    @Test(.holds("O19"), arguments: ["bearer", "Bearer", "BEARER"])
    func `token_type is compared without case`(type: String) async throws {
        let (bench, outcome) = try await refresh(#"{"access_token":"at","token_type":"\#(type)"}"#)
        #expect(outcome.granted?.tokenType == "Bearer")
        #expect(try #require(outcome.granted).serverTokenType == nil)
        #expect(try bench.text(outcome.granted?.accessToken) == "at")
    }

    @Test(.holds("103")) func `a byte order mark before an answer says nothing`() async throws {
        let (bench, outcome) = try await refresh("\u{FEFF}{\"access_token\":\"at\"}")
        #expect(try bench.text(outcome.granted?.accessToken) == "at")
    }

    @Test func `a refresh token may hold blanks`() async throws {
        let (bench, outcome) = try await refresh(#"{"access_token":"at","refresh_token":"r t 2"}"#)
        let next = try #require(outcome.granted?.refreshToken)
        #expect(try bench.text(next) == "r t 2")
        bench.exchange.expect(endpoint, #"{"access_token":"at"}"#)
        #expect(try await bench.refresh("r t 2").granted != nil)
        #expect(bench.exchange.sent.last?.form["refresh_token"] == "r t 2")
    }

    @Test(
        .holds("103", "104", "O19"),
        arguments: [
            #"{"access_token":""}"#, #"{"access_token":null}"#,
            #"{"access_token":7}"#, #"{"access_token":"a b"}"#, #"{"access_token":"a\u0000b"}"#,
            #"{"access_token":"ä"}"#,
            #"{"access_token":"at","refresh_token":7}"#, #"{"access_token":"at","refresh_token":"r\n"}"#,
            #"{"access_token":"at","refresh_token":"a","refresh_token":"b"}"#,
            #"{"access_token":"at","expires_in":1,"expires_in":2}"#,
            #"[{"access_token":"at"}]"#, "access_token=at&token_type=bearer",
            "{", "",
            #"{"access_token":"at"} {}"#, #"{"access_token":"\ud800"}"#, #"{"expires_in":1e400e}"#,
        ]
    )
    func `what is no token answer is refused`(body: String) async throws {
        let (_, outcome) = try await refresh(body)
        #expect(outcome.failure?.kind == .misbehaved)
    }

    @Test(arguments: ["mac", "DPoP", "N_A"])
    func `a token of another type than the session can use waits for somebody to act`(
        type: String
    ) async throws {
        let (_, outcome) = try await refresh(#"{"access_token":"at","token_type":"\#(type)"}"#)
        #expect(outcome.failure?.kind == .misconfigured)
    }

    @Test(.holds("103")) func `nesting of a hundred thousand levels is refused`() async throws {
        let body = #"{"access_token":"at","x":"# + String(repeating: "[", count: 100_000)
        let (_, outcome) = try await refresh(body)
        #expect(outcome.failure?.kind == .misbehaved)
    }

    @Test(.holds("103")) func `UTF-16 is refused`() async throws {
        let bench = try Bench(.fixed())
        let body = #"{"access_token":"at"}"#.utf16.flatMap {
            [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)]
        }
        bench.exchange.expect(endpoint, .reply(ServerResponse(status: 200, body: body)))
        #expect(try await bench.refresh().failure?.kind == .misbehaved)
    }

    @Test(.holds("104")) func `a web page's content type does not matter when the body is a token answer`()
        async throws
    {
        let bench = try Bench(.fixed())
        bench.exchange.expect(endpoint, #" {"access_token":"at"}"#, headers: ["content-type": "text/html"])
        #expect(try await bench.refresh().granted != nil)
    }

    @Test(.holds("74", "O18")) func `200 unknown members and a token of 100 KiB are no trouble`() async throws
    {
        let token = String(repeating: "t", count: 100 << 10)
        let unknown = (0..<200).map { #""x\#($0)":{"y":[\#($0)]},"# }.joined()
        let (bench, outcome) = try await refresh(#"{\#(unknown)"access_token":"\#(token)","foo":null}"#)
        #expect(try bench.text(outcome.granted?.accessToken) == token)
    }

    @Test(
        .holds("O21"),
        arguments: [
            (#""scope":"a b""#, ["a", "b"]), (#""scope":"  a  ""#, ["a"]),
            (#""scope":["a","b"]"#, ["a", "b"]),
            (#""scope":"""#, []), (#""scope":null"#, nil), (#""x":1"#, nil),
            (#""scope":"a\u001b[31m""#, ["a [31m"]),
        ]
    )
    func `the granted scope is recorded`(member: String, scope: [String]?) async throws {
        let (_, outcome) = try await refresh(#"{"access_token":"at",\#(member)}"#)
        #expect(try #require(outcome.granted).scope == scope)
    }

    @Test func `the refresh token's own lifetime is recorded`() async throws {
        let (_, outcome) = try await refresh(#"{"access_token":"at","refresh_expires_in":1800}"#)
        #expect(outcome.granted?.refreshLifetime == RefreshLifetime(.seconds(1_800)))
        // Keycloak's way of saying that it never expires.
        let (_, never) = try await refresh(#"{"access_token":"at","refresh_expires_in":0}"#)
        #expect(try #require(never.granted).refreshLifetime == nil)
    }

    @Test func `the time of a token is read before the request is sent`() async throws {
        let (bench, outcome) = try await refresh(#"{"access_token":"at"}"#)
        #expect(outcome.granted?.requestedAt == bench.clock.now)
    }

    @Test func `an ID token is not kept where nobody can validate it`() async throws {
        let (_, outcome) = try await refresh(#"{"access_token":"at","id_token":"a.b.c"}"#)
        #expect(try #require(outcome.granted).idToken == nil)
    }
}
