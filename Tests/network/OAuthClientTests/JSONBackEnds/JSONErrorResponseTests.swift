// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import TokenCore

@testable import OAuthClient

struct JSONRefusalTests {
    func classify(
        _ body: String,
        status: Int = 401,
        _ rules: JSONBackEndDialect = .signaling,
        headers: [String: String] = [:],
        for purpose: JSONPurpose = .login
    ) -> RefreshFailure {
        let list = headers.map { ServerResponse.Header(name: $0.key, value: $0.value) }
        let reply = ServerResponse(status: status, headers: list, body: Array(body.utf8))
        let now = WallTime(secondsSince1970: 1_800_000_000)
        return rules.classify(reply, purpose, from: "api.example", at: now)
    }

    @Test(
        arguments: JSONBackEndDialect.signaling.logoutCodes.map { (JSONBackEndDialect.signaling, $0) }
            + JSONBackEndDialect.ecall.logoutCodes.map { (JSONBackEndDialect.ecall, $0) }
            + JSONBackEndDialect().logoutCodes.map { (JSONBackEndDialect(), $0) }
    )
    func `every listed code ends the session wherever it stands`(rules: JSONBackEndDialect, code: String) {
        let bodies = [
            #"{"error":"\#(code)"}"#, #"{"code":"\#(code)"}"#, #"{"errorCode":"\#(code)"}"#,
            #"{"error_code":"\#(code)","error":"Unauthorized"}"#, #"{"error":{"code":"\#(code)"}}"#,
            #"{"error":"Unauthorized","code":"\#(code)","message":"x"}"#,
        ]
        for body in bodies {
            let failure = classify(body, rules)
            #expect(failure.kind == .sessionOver, "\(body)")
            #expect(failure.code == code)
        }
    }

    @Test(arguments: [
        "refresh_token_expired", "token_revoked", "invalid_refresh_token", "invalid_credentials",
    ])
    func `the codes of signaling are those of its protocol`(code: String) {
        #expect(classify(#"{"error":"\#(code)"}"#).kind == .sessionOver)
    }

    @Test(arguments: ["ErrRefreshTokenExpired", "ErrDeviceNotRegistered", "unauthorized"])
    func `the codes of ecall are those of its protocol`(code: String) {
        #expect(classify(#"{"code":"\#(code)"}"#, .ecall).kind == .sessionOver)
        #expect(classify(#"{"code":"\#(code)"}"#, .signaling).kind == .unexplained)
    }

    @Test(arguments: [200, 400, 401, 403, 404, 500, 503])
    func `a demand for a new login ends the session at any status`(status: Int) {
        let bodies = [
            #"{"requiresReauth":true}"#, #"{"error":"access_token_expired","requiresReauth":true}"#,
            #"{"error":{"code":"x","requiresReauth":true}}"#,
        ]
        for body in bodies { #expect(classify(body, status: status).kind == .sessionOver) }
        #expect(classify(#"{"requiresReauth":false}"#, status: status).kind != .sessionOver)
        #expect(classify(#"{"requiresReauth":"true"}"#, status: status).kind != .sessionOver)
    }

    @Test(arguments: [407, 408, 425, 429, 500, 502, 503, 504])
    func `a code does not count where a gateway speaks or patience is asked for`(status: Int) {
        let kind = classify(#"{"error":"token_revoked"}"#, status: status).kind
        #expect(kind == (status == 502 || status == 504 ? .ambiguous : .busy))
    }

    @Test(arguments: [
        (401, "<html>portal</html>", FailureClass.busy), (401, "", .unexplained), (403, "{}", .busy),
        (403, "<html>", .busy), (404, "{}", .busy), (302, "", .misbehaved), (307, "", .misbehaved),
        (429, #"{"error":"rate_limited"}"#, .busy), (500, "{}", .busy), (502, "", .ambiguous),
        (503, "", .busy), (504, "", .ambiguous), (401, #"{"error":"access_token_expired"}"#, .unexplained),
        (401, #"{"error":"a_new_code"}"#, .unexplained), (400, #"{"error":"bad_request"}"#, .unexplained),
        (400, #"{"error":"invalid_grant"}"#, .grantDead),
        (400, #"{"error":"temporarily_unavailable"}"#, .busy), (413, "", .misconfigured),
        (401, #"{"error":"token_revoked""#, .unexplained),
        (401, #"{"error":"token_revoked","error":"x"}"#, .unexplained),
    ])
    func `anything else is temporary or nearly so`(status: Int, body: String, kind: FailureClass) {
        #expect(classify(body, status: status).kind == kind)
    }

    @Test(arguments: [
        (200, #"{"error":"a_new_code"}"#, FailureClass.unexplained),
        (403, #"{"error":"gone"}"#, .unexplained),
        (400, #"{"error":"a_new_code"}"#, .unexplained), (403, "{}", .busy), (200, "{}", .misbehaved),
        (429, #"{"error":"a_new_code"}"#, .busy), (500, #"{"error":"a_new_code"}"#, .busy),
    ])
    func `at a refresh an unknown code is a refusal, whatever the status`(
        status: Int,
        body: String,
        kind: FailureClass
    ) {
        #expect(classify(body, status: status, for: .refresh).kind == kind)
    }

    @Test func `what the server said is shown, cleaned`() {
        let failure = classify(#"{"error":"a_new_code","message":"wait\u001b[31m"}"#)
        #expect(failure.code == "a_new_code")
        #expect(failure.message.hasSuffix("(a_new_code: wait [31m)"))
    }

    @Test func `Retry-After is kept`() {
        let failure = classify("{}", status: 429, headers: ["retry-after": "120"])
        #expect(failure.retryAfter == .seconds(120))
    }

    /// As Simple JWT for Django has it: one code for an access token and for a refresh token.
    @Test func `a code may mean more in the answer to a refresh than at the API`() {
        var rules = JSONBackEndDialect.signaling
        rules.refreshCodes = ["token_not_valid"]
        rules.logoutCodes = []
        rules.refreshLogoutCodes = ["token_not_valid"]
        let body = #"{"detail":"Token is invalid or expired","code":"token_not_valid"}"#
        let over = classify(body, rules, for: .refresh)
        #expect(over.kind == .sessionOver)
        #expect(over.message.contains("token_not_valid: Token is invalid or expired"))
        for purpose in [JSONPurpose.login, .logout] {
            #expect(classify(body, rules, for: purpose).kind != .sessionOver)
        }
        // Without a list of its own a refresh has the one of the API.
        rules.refreshLogoutCodes = nil
        #expect(classify(body, rules, for: .refresh).kind != .sessionOver)
    }

    @Test(arguments: [
        #"{"errors":[{"code":"E7","detail":"session closed"}]}"#, #"{"detail":"session closed"}"#,
        #"{"errors":["session closed"]}"#, #"{"title":"session closed"}"#,
        #"{"error":{"message":"session closed"}}"#,
    ])
    func `what a refusal says of its reason is told, however it says it`(body: String) {
        #expect(classify(body, status: 400).message.contains("session closed"), "\(body)")
    }
}
