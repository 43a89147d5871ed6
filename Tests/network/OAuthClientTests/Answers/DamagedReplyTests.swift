// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Refresh responses that are not valid JSON but contain a new refresh token anyway.
struct DamagedReplyTests {
    private static let endpoint = "https://tokens.example/token"
    private static let whole =
        #"{"access_token":"at-2","token_type":"Bearer","expires_in":3600,"refresh_token":"rt-2""#

    /// Bodies that servers have sent, and what is said about each.
    static let bodies: [(name: String, body: [UInt8], defect: String)] = [
        ("byte order mark", [0xEF, 0xBB, 0xBF] + Array("\(whole)}".utf8), "byte order mark"),
        ("duplicate member", Array(#"\#(whole),"note":"a","note":"b"}"#.utf8), "duplicate member"),
        ("Latin-1", Array(#"\#(whole),"user":"Jos"#.utf8) + [0xE9] + Array(#""}"#.utf8), "invalid UTF-8"),
        ("lone surrogate", Array(#"\#(whole),"user":"\ud83d"}"#.utf8), "invalid string"),
        ("NaN", Array(#"\#(whole),"score":NaN}"#.utf8), "unexpected byte"),
        ("trailing comma", Array("\(whole),}".utf8), "unexpected byte"),
        (
            "warning",
            Array("<br />\n<b>Warning</b>: Undefined index in <b>token.php</b><br />\n\(whole)}".utf8),
            "unexpected byte"
        ),
        (
            "form",
            Array("access_token=at-2&token_type=Bearer&expires_in=3600&refresh_token=rt-2".utf8), "is a form"
        ),
    ]

    private func refresh(
        _ body: [UInt8],
        status: Int = 200,
        announcing length: Int? = nil
    ) async throws -> (Bench, RefreshOutcome) {
        let bench = try Bench(.fixed())
        let headers = length.map { [ServerResponse.Header(name: "content-length", value: "\($0)")] } ?? []
        bench.exchange.expect(
            Self.endpoint,
            .reply(ServerResponse(status: status, headers: headers, body: body))
        )
        return (bench, try await bench.refresh())
    }

    @Test(.holds("103"), arguments: bodies.indices)
    func `a new refresh token is taken from a damaged body, and the damage is told`(
        index: Int
    ) async throws {
        let (name, body, defect) = Self.bodies[index]
        let (bench, outcome) = try await refresh(body, announcing: body.count)
        let granted = try #require(outcome.granted, "\(name): \(outcome)")
        #expect(try bench.text(granted.refreshToken) == "rt-2")
        #expect(try bench.text(granted.accessToken) == "at-2")
        #expect(granted.lifetime == .seconds(3_600))
        // What was read without a doubt needs nothing to fall back on.
        let isCertain = name == "byte order mark"
        #expect(granted.remarks.map(\.kind) == [isCertain ? .responseDamaged : .responseSalvaged], "\(name)")
        #expect(granted.remarks.first?.message.contains(defect) == true, "\(name): \(granted.remarks)")
    }

    @Test(.holds("103"), arguments: bodies.indices)
    func `of a body that was cut, a refresh token is taken only whole`(index: Int) async throws {
        let (name, body, _) = Self.bodies[index]
        for count in 0..<body.count {
            let cut = Array(body[..<count])
            // Nobody says how long the body is.
            let (bench, open) = try await refresh(cut)
            let token = try bench.text(open.granted?.refreshToken ?? open.saved?.refreshToken)
            #expect(token == nil || token == "rt-2", "\(name) at \(count)")
            if let granted = open.granted {
                #expect(try bench.text(granted.accessToken) == "at-2", "\(name) at \(count)")
                #expect([nil, .seconds(3_600)].contains(granted.lifetime), "\(name) at \(count)")
            }
            // It is shorter than announced.
            let (_, short) = try await refresh(cut, announcing: body.count)
            #expect(short.failure?.kind == .misbehaved, "\(name) at \(count)")
        }
    }

    @Test(
        .holds("103"),
        arguments: [
            // Pages and texts that mention tokens.
            "<!DOCTYPE html><html><body><pre>\(whole)}</pre></body></html>",
            "<html><script>var x = \(whole)}</script>",
            "<html>\(whole)}", "<HTML><head>\(whole)}", "<pre>\(whole)}</pre>",
            "Example: \(whole)} is an answer",
            #"An answer has "access_token" and more: \#(whole)}"#, "refresh_token: \(whole)}",
            "<p>access_token=at-2&refresh_token=rt-2</p>", "callback(\(whole)});", "[\(whole)}]",
            // Two candidates, or none that is certain.
            "\(whole)}\(whole)}", #"\#(whole),"refresh_token":"rt-3"}"#, #"\#(whole),"access_token":"at-3"}"#,
            #"\#(whole),"token_type":"DPoP"}"#, #"{"x":\#(whole)},}"#,
            #"\#(whole),"error":"invalid_grant",}"#,
            #"{"access_token":"at-2","refresh_token":7,}"#,
            #"{"access_token":"at-2","refresh_token":"rt-2,}"#,
            #"{"refresh_token":"rt-2",}"#, #"{"access_token":"at-2" "refresh_token":"rt-2"}"#,
            "access_token=at-2&refresh_token=rt-2&refresh_token=rt-3", "access_token=at-2&refresh_token=rt+2",
            "access_token=at-2&refresh_token=rt%2",
            "access_token=at-2&refresh_token=rt-2&error=invalid_grant",
            "access_token=at-2 refresh_token=rt-2", "access_token=&refresh_token=rt-2",
        ]
    )
    func `what is no answer of a token endpoint beyond doubt brings no token`(body: String) async throws {
        let (_, outcome) = try await refresh(Array(body.utf8), announcing: body.utf8.count)
        #expect(outcome.granted == nil)
        #expect(outcome.saved == nil)
    }

    @Test(.holds("103"), arguments: [201, 202, 400, 401, 500])
    func `only a 200 is searched for tokens`(status: Int) async throws {
        let body = Array("\(Self.whole),}".utf8)
        let (_, outcome) = try await refresh(body, status: status)
        #expect(outcome.granted == nil)
        #expect(outcome.saved == nil)
    }

    /// Members of a body that is not JSON for its comma at the end.
    @Test(arguments: [
        #""error":null"#, #""error":false"#, #""error":"""#, #""refresh_token":"rt-2""#,
        #""token_type":"Bearer""#, #""refresh\u005ftoken":"rt-2""#,
        #""next":{"refresh_token":"rt-9","access_token":"at-9"}"#,
    ])
    func `members that say nothing new cost no token`(members: String) async throws {
        let body = Array("\(Self.whole),\(members),}".utf8)
        let (bench, outcome) = try await refresh(body, announcing: body.count)
        let granted = try #require(outcome.granted, "\(outcome)")
        #expect(try bench.text(granted.refreshToken) == "rt-2")
        #expect(try bench.text(granted.accessToken) == "at-2")
    }

    @Test(arguments: [
        #""error":"0""#, #""error":true"#, #""error":{}"#, #""error":["x"]"#, #""refresh\u005ftoken":"rt-3""#,
        #""\u0061ccess_token":"at-3""#, #""refresh_token":null"#, #""token_type":"bearer""#,
    ])
    func `members that contradict the tokens leave all in doubt`(members: String) async throws {
        let body = Array("\(Self.whole),\(members),}".utf8)
        let (_, outcome) = try await refresh(body, announcing: body.count)
        #expect(outcome.granted == nil && outcome.saved == nil)
    }

    @Test func `a form whose end nobody announces may have been cut`() async throws {
        let body = Array("access_token=at-2&refresh_token=rt-2".utf8)
        #expect(try await refresh(body).1.granted == nil)
    }

    @Test(.holds("103")) func `hostile bodies take no time`() async throws {
        let nested = String(repeating: #"{"":"#, count: 60_000)
        let listed =
            String(repeating: #"{"":{"":["#, count: 900) + String(repeating: "0,", count: 100_000) + "!"
        for body in [nested, listed, String(repeating: "{", count: 200_000)] {
            #expect(try await refresh(Array(body.utf8)).1.failure?.kind == .misbehaved)
        }
    }

    @Test func `a damaged answer whose access token is of no use keeps the refresh token`() async throws {
        let body = #"{"access_token":"at-2","token_type":"MAC","refresh_token":"rt-2",}"#
        let (bench, outcome) = try await refresh(Array(body.utf8))
        #expect(outcome.failure?.message.contains("MAC") == true)
        #expect(try bench.text(outcome.saved?.refreshToken) == "rt-2")
    }

    @Test func `a damaged answer of kind json is read from its envelope`() async throws {
        var rules = JSONBackEndDialect()
        rules.responses.envelope = JSONPath(["data"])
        var profile = JSONServerTests.profile()
        guard case .json(var backEnd) = profile.kind else { return }
        backEnd.rules = rules
        profile.kind = .json(backEnd)
        let bench = try KindBench(profile)
        bench.exchange.expect(
            JSONServerTests.refresh,
            #"{"status":NaN,"data":{"accessToken":"at-2","refreshToken":"rt-2","expiresIn":900,}}"#
        )
        let granted = try #require(try await bench.refresh().granted)
        #expect(try bench.text(granted.refreshToken) == "rt-2")
        #expect(granted.remarks.map(\.kind) == [.responseSalvaged])
    }

    @Test func `a damaged answer of a user pool is read`() async throws {
        let pool = CognitoPool(
            region: "eu-central-1",
            userPoolID: "eu-central-1_pool",
            endpoint: "https://pool.example/",
            rotates: true
        )
        let bench = try KindBench(
            ServerProfile(kind: .cognito(pool), client: ClientIdentity("cli"), flow: .password)
        )
        bench.exchange.expect(
            "https://pool.example/",
            #"{"AuthenticationResult":{"AccessToken":"at-2","RefreshToken":"rt-2","ExpiresIn":900},}"#
        )
        let granted = try #require(try await bench.refresh().granted)
        #expect(try bench.text(granted.refreshToken) == "rt-2")
        #expect(granted.remarks.map(\.kind) == [.responseSalvaged])
    }
}
