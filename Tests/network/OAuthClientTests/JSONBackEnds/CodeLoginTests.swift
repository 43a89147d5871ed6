// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Logins with a code that the back end sends to the user.
struct CodeLoginTests {
    static let address = "https://api.example/auth/code"

    private func bench(_ carried: [String] = ["attempt", "trusted", "number"]) throws -> KindBench {
        var backEnd = JSONBackEnd(
            loginURL: JSONServerTests.login,
            refreshURL: JSONServerTests.refresh,
            logoutURL: nil,
            rules: .signaling
        )
        backEnd.codeStep = CodeDeliveryStep(url: CodeLoginTests.address, carriedMembers: carried)
        backEnd.rules.credentials.username = "phone"
        backEnd.rules.credentials.code = "otp"
        let profile = ServerProfile(kind: .json(backEnd), client: ClientIdentity(""), flow: .password)
        #expect(profile.problems == [])
        return try KindBench(profile)
    }

    private func secretsLeft(in bench: KindBench) -> Int {
        (1...60).count { bench.memory.kind(of: SecretID(rawValue: $0)) == .password }
    }

    @Test func `the code goes with the user name and what the first answer brought`() async throws {
        let bench = try bench()
        bench.exchange.expect(
            CodeLoginTests.address,
            #"{"attempt":"a\"1","trusted":false,"number":1.50,"code":"OK"}"#
        )
        bench.exchange.expect(JSONServerTests.login, #"{"accessToken":"at-1","refreshToken":"rt-1"}"#)
        let person = ScriptedPerson(memory: bench.memory) { $0.kind == .oneTimeCode ? "1234" : nil }
        let outcome = await bench.server.logIn(LoginRequest(username: "+49 1"), conversation: person)
        #expect(outcome.granted?.account == "+49 1")
        #expect(person.questions.map(\.prompt) == ["Code sent to +49 1"])
        #expect(person.questions.map(\.isSecret) == [true])
        #expect(bench.exchange.sent.first?.json == ["phone": "+49 1"])
        #expect(
            bench.exchange.sent.last?.json
                == [
                    "phone": "+49 1", "otp": "1234", "attempt": "a\"1", "trusted": false,
                    "number": .number("1.50"),
                ]
        )
        #expect(secretsLeft(in: bench) == 0)
    }

    @Test func `a code is asked for three times, and sent for once`() async throws {
        let bench = try bench([])
        bench.exchange.expect(CodeLoginTests.address, status: 204, "")
        for status in [400, 200, 422] {
            bench.exchange.expect(
                JSONServerTests.login,
                status: status,
                #"{"error":"wrong_code","message":"No\u001b[2J"}"#
            )
        }
        let person = ScriptedPerson(memory: bench.memory) { $0.kind == .oneTimeCode ? "1234" : nil }
        let outcome = await bench.server.logIn(LoginRequest(username: "bob"), conversation: person)
        #expect(outcome.failure?.code == "wrong_code")
        let again = "wrong_code: No [2J. Code sent to bob"
        #expect(person.questions.map(\.prompt) == ["Code sent to bob", again, again])
        #expect(bench.exchange.posts(to: CodeLoginTests.address).count == 1)
        #expect(secretsLeft(in: bench) == 0)
    }

    @Test(arguments: [
        (401, #"{"error":"x","requiresReauth":true}"#), (429, #"{"error":"slow"}"#), (503, #"{"error":"x"}"#),
        (401, "<html>"), (200, #"{"data":1}"#), (500, ""),
    ])
    func `an answer that is not about the code asks for no other`(status: Int, body: String) async throws {
        let bench = try bench([])
        bench.exchange.expect(CodeLoginTests.address, "{}")
        bench.exchange.expect(JSONServerTests.login, status: status, body)
        let outcome = try await bench.logIn(secret: nil) { $0.kind == .oneTimeCode ? "1234" : nil }
        #expect(outcome.failure != nil)
        #expect(bench.exchange.isExhausted)
    }

    @Test(arguments: [
        (401, #"{"error":"unknown_user"}"#, FailureClass.unexplained),
        (200, #"{"error":"unknown_user"}"#, .misbehaved),
        (200, "<html>portal</html>", .misbehaved), (200, #"{"requiresReauth":true}"#, .sessionOver),
        (200, "{}", .misbehaved), (200, #"{"attempt":null}"#, .misbehaved),
        (200, #"{"attempt":{}}"#, .misbehaved),
        (200, #"{"attempt":"\#(String(repeating: "x", count: 9_000))"}"#, .misbehaved), (503, "", .busy),
    ])
    func `nobody is asked for a code that was not sent`(
        status: Int,
        body: String,
        kind: FailureClass
    ) async throws {
        let bench = try bench(["attempt"])
        bench.exchange.expect(CodeLoginTests.address, status: status, body)
        let person = ScriptedPerson(memory: bench.memory) { _ in "1234" }
        let outcome = await bench.server.logIn(LoginRequest(username: "bob"), conversation: person)
        #expect(outcome.failure?.kind == kind)
        #expect(person.questions.isEmpty)
        #expect(secretsLeft(in: bench) == 0)
    }

    @Test func `whoever leaves at the code cancels the login`() async throws {
        let bench = try bench([])
        bench.exchange.expect(CodeLoginTests.address, "{}")
        #expect(try await bench.logIn(secret: nil) == .cancelled)
    }

    @Test func `a password is not sent, and no code asked for with it`() async throws {
        let bench = try bench([])
        #expect(try await bench.logIn().failure?.kind == .misconfigured)
        #expect(bench.exchange.sent.isEmpty)
    }
}
