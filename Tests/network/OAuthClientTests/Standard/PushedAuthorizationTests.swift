// SPDX-License-Identifier: MIT

import Crypto
import Synchronization
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Authorization requests that do not go through the browser (RFC 9126).
struct PushedAuthorizationTests {
    static let endpoint = "https://id.example/par"
    static let metadata: [String: JSONValue] = [
        "require_pushed_authorization_requests": true,
        "pushed_authorization_request_endpoint": .string(endpoint),
    ]

    /// A login whose browser comes back with a code; what it was sent to.
    private func run(
        _ login: BrowserLoginTests.Login
    ) async -> (outcome: LoginOutcome, address: OpenedAddress?) {
        let opened = Mutex<OpenedAddress?>(nil)
        let pushed = login.bench.exchange
        let outcome = await login.run { address in
            opened.withLock { $0 = address }
            let form = try #require(pushed.posts(to: Self.endpoint).last?.form)
            let port = try #require(form["redirect_uri"]?.firstMatch(of: /:(\d+)\//)?.1)
            try await OpenedAddress.redirect("code=c&state=\(form["state"] ?? "")", port: #require(Int(port)))
        }
        return (outcome, opened.withLock { $0 })
    }

    @Test(.holds("O52")) func `the request goes to the server and the browser only names it`() async throws {
        let login = try await BrowserLoginTests.Login(metadata: Self.metadata)
        let answer = #"{"request_uri":"urn:example:1","expires_in":60}"#
        login.bench.exchange.expect(Self.endpoint, status: 201, answer)
        let (outcome, address) = await run(login)
        #expect(outcome.granted != nil, "\(outcome)")
        #expect(address?.parameters == ["client_id": "cli", "request_uri": "urn:example:1"])
        let sent = try #require(login.bench.exchange.posts(to: Self.endpoint).first)
        #expect(sent.formNames.count == Set(sent.formNames).count)
        #expect(sent.form["response_type"] == "code" && sent.form["client_id"] == "cli")
        #expect(sent.form["code_challenge_method"] == "S256")
        let verifier = try #require(login.redemptions.first?.form["code_verifier"])
        #expect(sent.form["code_challenge"] == Base64.urlEncoded(SHA256.hash(data: Array(verifier.utf8))))
    }

    @Test(.holds("O52")) func `a confidential client proves itself and is named once`() async throws {
        let secret = try TemporaryFile("s3cret")
        let profile = TestIssuer.profile(secret: .file(secret.path))
        let login = try await BrowserLoginTests.Login(profile, metadata: Self.metadata)
        login.bench.exchange.expect(Self.endpoint, status: 201, #"{"request_uri":"urn:example:1"}"#)
        let (outcome, _) = await run(login)
        #expect(outcome.granted != nil, "\(outcome)")
        let sent = try #require(login.bench.exchange.posts(to: Self.endpoint).first)
        #expect(sent.headers["authorization"] == "Basic Y2xpOnMzY3JldA==")
        #expect(sent.formNames.count { $0 == "client_id" } == 1)
    }

    @Test(
        .holds("O52"),
        arguments: [
            (201, "{}"), (201, #"{"request_uri":""}"#), (201, #"{"request_uri":7}"#), (200, "<html>"),
            (201, #"{"request_uri":"a b"}"#), (500, ""), (400, #"{"error":"invalid_request"}"#),
        ]
    )
    func `without a reference no browser is opened and no port stays open`(
        status: Int,
        body: String
    ) async throws {
        let login = try await BrowserLoginTests.Login(metadata: Self.metadata)
        login.bench.exchange.expect(Self.endpoint, status: status, body)
        let (outcome, address) = await run(login)
        #expect(outcome.failure != nil)
        #expect(address == nil)
    }

    @Test(.holds("O52")) func `each login pushes a request of its own`() async throws {
        let login = try await BrowserLoginTests.Login(metadata: Self.metadata)
        for number in 1...2 {
            login.bench.exchange.expect(
                Self.endpoint,
                status: 201,
                #"{"request_uri":"urn:example:\#(number)"}"#
            )
            let (_, address) = await run(login)
            #expect(address?.parameters["request_uri"] == "urn:example:\(number)")
        }
        let states = login.bench.exchange.posts(to: Self.endpoint).map { $0.form["state"] }
        #expect(Set(states).count == 2)
    }
}
