// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Responses with text that `String` needs minutes to compare, and responses that are too large to store.
struct HostileAnswerTests {
    /// A megabyte of combining marks, which Unicode sorts before it compares them.
    private static let marks = String(repeating: "\u{301}\u{323}", count: 1 << 18)
    /// The limit of this thread's processor time.
    ///
    /// The measured code takes tens of milliseconds, and `String` minutes.
    private static let limit: Duration = .seconds(10)

    private func expectSoon(_ what: String, _ body: () -> Void) {
        let taken = ThreadTime.spent(in: body)
        #expect(taken < Self.limit, "\(what): \(taken)")
    }

    private func object(_ members: String) throws -> JSONObject {
        try #require(try JSONValue(parsing: "{\(members)}".utf8).object)
    }

    @Test(.holds("74"), arguments: ["scope", "token_type", "expires_in", "refresh_token"])
    func `a member of a megabyte of marks is judged at once`(member: String) throws {
        let object = try object(#""access_token":"at","\#(member)":"\#(Self.marks)""#)
        expectSoon(member) {
            _ = try? TokenResponse(object)
            _ = try? TokenResponse(object, .cognito)
            _ = try? TokenResponse(object, TokenResponseFormat(.camelCase))
        }
    }

    @Test(arguments: ["error", "error_description", "suberror", "code", "__type", "message"])
    func `a refusal of a megabyte of marks is judged at once`(member: String) throws {
        let body = #"{"error":"invalid_grant_\#(member)","x":1}"#
        let text =
            member == "error"
            ? #"{"error":"\#(Self.marks)"}"#
            : body.replacing("x", with: member)
                .replacing(":1}", with: ":\"\(Self.marks)\"}")
        let reply = ServerResponse(status: 400, body: Array(text.utf8))
        let now = WallTime(secondsSince1970: 1_800_000_000)
        expectSoon(member) {
            let refused = reply.refused(object: reply.jsonObject, at: now)
            _ = FailureClassification.classify(refused, from: "id.example")
            _ = JSONBackEndDialect.signaling.classify(reply, .refresh, from: "id.example", at: now)
            _ = CognitoErrorResponse(reply, from: "id.example", at: now)
        }
    }

    @Test(arguments: [
        "retry-after", "content-type", "www-authenticate", "date", "dpop-nonce", "x-amzn-errortype",
    ])
    func `a header of marks is judged at once`(name: String) {
        let value = String(repeating: "\u{301}\u{323}", count: HTTPLimits.headers / 4)
        let reply = ServerResponse(
            status: 401,
            headers: [.init(name: name, value: value)],
            body: Array("{}".utf8)
        )
        let now = WallTime(secondsSince1970: 1_800_000_000)
        expectSoon(name) {
            _ = reply.refused(object: nil, at: now)
            _ = reply.serverTime
            _ = CognitoErrorResponse(reply, from: "id.example", at: now)
        }
    }

    @Test func `metadata and keys of marks are judged at once`() throws {
        let issuer = "https://id.example"
        let lists =
            #""token_endpoint":"https://id.example/t","code_challenge_methods_supported":["\#(Self.marks)"]"#
        let foreign = try object(#""issuer":"\#(Self.marks)""#)
        let listing = try object(#""issuer":"\#(issuer)",\#(lists)"#)
        let keys = try object(#""keys":[{"kty":"RSA","n":"AQ","e":"AQAB","kid":"\#(Self.marks)"}]"#)
        let curves = try object(#""keys":[{"kty":"EC","crv":"\#(Self.marks)","x":"AQ","y":"AQ"}]"#)
        expectSoon("metadata") {
            _ = try? ServerMetadata(foreign, issuer: issuer, isInternal: false)
            let metadata = try? ServerMetadata(listing, issuer: issuer, isInternal: false)
            #expect(metadata?.challengeMethods?.contains("S256") == false)
        }
        expectSoon("keys") {
            #expect(KeySet(keys)?.candidates(identifier: "rsa", algorithm: .rs256).isEmpty == true)
            #expect(KeySet(curves)?.keys.isEmpty == true)
        }
    }

    @Test func `texts that Unicode calls equivalent are two issuers`() throws {
        let document = try object(
            "\"issuer\":\"https://id.example/caf\u{E9}\",\"token_endpoint\":\"https://x.example\""
        )
        #expect(throws: ServerMetadata.Problem.self) {
            try ServerMetadata(document, issuer: "https://id.example/cafe\u{301}", isInternal: false)
        }
    }

    @Test func `a key larger than any real one is passed over`() throws {
        let modulus = String(repeating: "A", count: 3_000)
        let keys = try object(#""keys":[{"kty":"RSA","n":"\#(modulus)","e":"AQAB"}]"#)
        #expect(KeySet(keys)?.keys.isEmpty == true)
    }

    @Test(.holds("74")) func `a scope of 70,000 words is a failure that says so and keeps the session`()
        async throws
    {
        let bench = try Bench(.fixed())
        let scope = (0..<70_000).map { "s\($0)" }.joined(separator: " ")
        let body = #"{"access_token":"at","scope":"\#(scope)"}"#
        bench.exchange.always("https://tokens.example/token", .json(body))
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.kind == .misbehaved)
        #expect(failure.message.contains("more than 500 scopes"))
        let list = (0..<10_000).map { #""s\#($0)""# }.joined(separator: ",")
        #expect(throws: TokenResponse.Problem.self) {
            try TokenResponse(try object(#""access_token":"at","scope":[\#(list)]"#))
        }
    }

    @Test func `a scope of 500 words is taken`() throws {
        let scope = (0..<500).map { "s\($0)" }.joined(separator: " ")
        let answer = try TokenResponse(try object(#""access_token":"at","scope":"\#(scope) ""#))
        #expect(answer.scope?.count == 500)
    }

    /// The status, and whether the whole text of the response is shown.
    @Test(.holds("O58"), arguments: [(500, false), (503, false), (599, false), (400, true), (403, true)])
    func `a server in trouble is quoted with a hundred characters`(status: Int, isWhole: Bool) {
        let text = String(repeating: "0123456789", count: 25)
        let now = WallTime(secondsSince1970: 1_800_000_000)
        let error = ReportedOAuthError(code: "server_error", description: text)
        let refused = TokenErrorResponse(status: status, error: error)
        let body = JSONValue(dictionaryLiteral: ("code", "x"), ("message", .string(text)), ("__type", "X"))
        let reply = ServerResponse(status: status, body: body.serialized)
        let messages = [
            FailureClassification.classify(refused, from: "id.example").message,
            JSONBackEndDialect.signaling.classify(reply, .refresh, from: "id.example", at: now).message,
            CognitoErrorResponse(reply, from: "id.example", at: now).failure.message,
        ]
        for message in messages {
            #expect(message.contains(text) == isWhole, "\(message)")
            #expect(message.contains("0123456789"))
        }
    }

    @Test func `an endpoint of a megabyte is none`() throws {
        let address = "https://id.example/" + String(repeating: "a", count: 1 << 20)
        #expect(throws: EndpointURLError.tooLong) { try EndpointURL(address) }
    }

    @Test func `a large answer is read on another thread than the one that asked`() async throws {
        let body = Array(#"{"access_token":"\#(String(repeating: "a", count: 1 << 19))"}"#.utf8)
        #expect(await ResponseBodyParser.read(body) == ServerResponse.ParsedBody(body))
        #expect(await ResponseBodyParser.read(Array("[]".utf8)) == .none)
        #expect(await ResponseBodyParser.read(Array("{}".utf8)) == .object([:]))
    }
}
