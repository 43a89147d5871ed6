// SPDX-License-Identifier: MIT

import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Refusals of a refresh in another form than RFC 6749 §5.2 has: a login that is over must not count as a server in
/// trouble for ever.
struct DamagedRefusalTests {
    private func failure(_ body: [UInt8], status: Int, length: Int? = nil) async throws -> RefreshFailure {
        let bench = try Bench(.fixed())
        let headers = length.map { [ServerResponse.Header(name: "content-length", value: "\($0)")] } ?? []
        let reply = ServerResponse(status: status, headers: headers, body: body)
        bench.exchange.expect("https://tokens.example/token", .reply(reply))
        let outcome = try await bench.refresh()
        #expect(outcome.saved == nil)
        return try #require(outcome.failure, "\(outcome)")
    }

    /// GitHub writes forms to who does not ask for JSON, and some servers to everybody.
    @Test(
        arguments: [
            (
                200, "error=bad_refresh_token&error_description=The+refresh+token+is+incorrect+or+expired.",
                .grantDead
            ),
            (200, "error=x_grant_gone", .unexplained), (400, "error=x_grant_gone\r\n", .unexplained),
            (400, "error=invalid_grant&error=invalid_grant", .grantDead),
            (401, "error=invalid%5Fgrant", .grantDead), (200, "error=temporarily_unavailable", .busy),
            (503, "error=invalid_grant", .busy), (429, "error=bad_refresh_token", .busy),
            // Two errors are none, and neither is one beside tokens, or a sentence.
            (200, "error=invalid_grant&error=slow_down", .misbehaved), (200, "error=", .misbehaved),
            (200, "access_token=at-2&refresh_token=rt-2&error=invalid_grant", .misbehaved),
            (200, "error = invalid_grant", .misbehaved), (200, "invalid_grant", .misbehaved),
        ] as [(Int, String, FailureClass)]
    )
    func `a refusal may be a form`(status: Int, body: String, kind: FailureClass) async throws {
        #expect(try await failure(Array(body.utf8), status: status).kind == kind)
    }

    private static let whole = #"{"error":"invalid_grant""#

    /// Ways in which a refusal is not JSON.
    private static let damaged: [(name: String, body: [UInt8])] = [
        ("Latin-1", Array(#"\#(whole),"error_description":"ung"#.utf8) + [0xFC] + Array(#"ltig"}"#.utf8)),
        ("trailing comma", Array("\(whole),}".utf8)), ("NaN", Array(#"\#(whole),"code":NaN}"#.utf8)),
        ("duplicate", Array(#"\#(whole),"hint":"a","hint":"b"}"#.utf8)),
        ("lone surrogate", Array(#"\#(whole),"error_description":"\ud83d"}"#.utf8)),
        ("warning", Array("<br />\n<b>Deprecated</b>: x in <b>token.php</b><br />\n\(whole)}\n".utf8)),
        ("the same twice", Array(#"\#(whole),"error":"invalid_grant"}"#.utf8)),
    ]

    @Test(arguments: damaged.indices, [200, 400, 401, 403])
    func `a refusal that is not quite JSON is one all the same`(index: Int, status: Int) async throws {
        let (name, body) = Self.damaged[index]
        let failure = try await failure(body, status: status, length: body.count)
        #expect(failure.kind == .grantDead && failure.code == "invalid_grant", "\(name): \(failure)")
        // Of what was cut off nothing ends a login at once.
        let cut = try await self.failure(Array(body.dropLast()), status: status, length: body.count)
        #expect(![.grantDead, .sessionOver].contains(cut.kind), "\(name): \(cut)")
    }

    @Test(arguments: [
        "<html><script>x=\(whole)}</script></html>", "<html>\(whole)}", "Example: \(whole)} is a refusal",
        "[\(whole)}]", "callback(\(whole)});", #"\#(whole),"error":"slow_down"}"#, "\(whole)}\(whole)}",
        #"{"x":\#(whole)},}"#, #"\#(whole),"refresh_token":"rt-2",}"#, #"{"error":"invalid_grant}"#,
        #"{"error":invalid_grant}"#,
    ])
    func `what is no refusal beyond doubt ends no login`(body: String) async throws {
        for status in [200, 403] {
            let failure = try await failure(Array(body.utf8), status: status, length: body.utf8.count)
            #expect(failure.code == nil && [.misbehaved, .busy].contains(failure.kind), "\(failure)")
        }
    }

    /// A code inside an object, or a list of errors, as API gateways write them.
    @Test(
        arguments: [
            (200, #"{"error":{"code":"bad_refresh_token","message":"expired"}}"#, .unexplained),
            (200, #"{"errors":[{"message":"Invalid refresh token"}]}"#, .unexplained),
            (200, #"{"errors":["gone"]}"#, .unexplained), (201, #"{"error":{"id":7}}"#, .unexplained),
            (400, #"{"error":{"code":"x"}}"#, .unexplained), (503, #"{"error":{"code":"x"}}"#, .busy),
            // Not an answer of the token endpoint, as far as anybody can tell.
            (403, #"{"error":{"code":403,"message":"blocked"}}"#, .busy),
            (200, #"{"error":{}}"#, .misbehaved), (200, #"{"error":null,"errors":[]}"#, .misbehaved),
            (200, #"{"status":"ok","message":"hello"}"#, .misbehaved),
        ] as [(Int, String, FailureClass)]
    )
    func `a refusal with its code elsewhere is not a server in trouble`(
        status: Int,
        body: String,
        kind: FailureClass
    ) async throws {
        #expect(try await failure(Array(body.utf8), status: status).kind == kind)
    }

    @Test func `an error in an object loses neither token beside it`() async throws {
        let bench = try Bench(.fixed())
        let error = #""error":{"code":0,"message":"ok"}"#
        bench.exchange.expect(
            "https://tokens.example/token",
            #"{"access_token":"at-2","refresh_token":"rt-2",\#(error)}"#
        )
        #expect(try bench.text(try await bench.refresh().granted?.refreshToken) == "rt-2")
        bench.exchange.expect("https://tokens.example/token", #"{"refresh_token":"rt-3",\#(error)}"#)
        #expect(try bench.text(try await bench.refresh("rt-2").saved?.refreshToken) == "rt-3")
    }

    /// The body of an error response that is not an OAuth error, and the part of it that the user needs.
    @Test(arguments: [
        (#"{"detail":[{"loc":["body"],"msg":"token was revoked","type":"x"}]}"#, "token was revoked"),
        (#"{"detail":{"message":"signed out elsewhere"}}"#, "signed out elsewhere"),
        (#"{"detail":"Token is invalid","code":"token_not_valid"}"#, "token_not_valid: Token is invalid"),
        (#"{"errors":["gone","really"]}"#, "gone: really"),
        (#"{"error":{"message":"no","status":"UNAUTHENTICATED"}}"#, "UNAUTHENTICATED: no"),
        ("error=x_gone&error_description=signed+out", "x_gone: signed out"),
    ])
    func `what a refusal says of its reason is told`(body: String, words: String) async throws {
        let failure = try await failure(Array(body.utf8), status: 400)
        #expect(failure.message.contains(words), "\(failure)")
    }
}
