// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

struct DirectLoginTests {
    let token = "https://tokens.example/token"

    @Test func `a password login asks for what is missing and keeps no password`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(token, #"{"access_token":"at","refresh_token":"rt"}"#)
        let person = ScriptedPerson(memory: bench.memory) { $0.kind == .username ? "alice" : "pass word" }
        let outcome = await bench.server.logIn(LoginRequest(flow: .password), conversation: person)
        let grant = try #require(outcome.granted)
        #expect(person.questions.map(\.kind) == [.username, .password])
        #expect(person.questions.map(\.isSecret) == [false, true])
        let form = try #require(bench.exchange.sent.first?.form)
        #expect(
            form == [
                "grant_type": "password", "username": "alice", "password": "pass word", "scope": "api",
                "client_id": "cli",
            ]
        )
        let passwords = (1...20).filter { bench.memory.kind(of: SecretID(rawValue: $0)) == .password }
        #expect(passwords.isEmpty)
        #expect(try bench.text(grant.tokens.refreshToken) == "rt")
        #expect(grant.renewal == grant.tokens.refreshToken.map(RenewalMethod.refreshToken))
        // A later login without the user needs the user name.
        #expect(grant.account == "alice")
    }

    @Test func `a signed token stands for the person`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(token, #"{"access_token":"at"}"#)
        let person = ScriptedPerson(memory: bench.memory)
        let assertion = try bench.secret("eyJ.e30.c2ln", .password)
        let request = LoginRequest(flow: .password, secret: assertion, isAssertion: true)
        #expect(await bench.server.logIn(request, conversation: person).granted != nil)
        #expect(person.questions.isEmpty)
        let form = try #require(bench.exchange.sent.first?.form)
        #expect(
            form == [
                "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "eyJ.e30.c2ln",
                "scope": "api", "client_id": "cli",
            ]
        )
    }

    @Test func `what the caller brought is not asked for`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(token, #"{"access_token":"at"}"#)
        let person = ScriptedPerson(memory: bench.memory)
        let request = LoginRequest(
            flow: .password,
            username: "bob",
            secret: try bench.secret("pw", .password)
        )
        #expect(await bench.server.logIn(request, conversation: person).granted?.renewal == .impossible)
        #expect(person.questions.isEmpty)
    }

    /// The scope of an answer to a login that asks for `api`, and what counts as granted (RFC 6749 §5.1).
    @Test(
        .holds("O21"),
        arguments: [
            (#","scope":"read""#, ["read"]), ("", ["api"]), (#","scope":"api more""#, ["api", "more"]),
        ]
    )
    func `the scope granted is the one of the answer, else the one asked for`(
        member: String,
        granted: [String]
    ) async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect("https://tokens.example/token", #"{"access_token":"at"\#(member)}"#)
        let person = ScriptedPerson(memory: bench.memory) { _ in "alice" }
        let outcome = await bench.server.logIn(LoginRequest(flow: .password), conversation: person)
        #expect(outcome.granted?.tokens.scope == granted)
    }

    @Test func `leaving the password question cancels the login`() async throws {
        let bench = try Bench(.fixed())
        let person = ScriptedPerson(memory: bench.memory) { $0.kind == .username ? "alice" : nil }
        let outcome = await bench.server.logIn(LoginRequest(flow: .password), conversation: person)
        #expect(outcome == .cancelled)
    }

    @Test func `client credentials renew themselves, whatever refresh token comes along`() async throws {
        let bench = try Bench(.fixed(secret: .command(["x"])), commands: ScriptedCommands(prints: "s"))
        bench.exchange.expect(token, #"{"access_token":"at","refresh_token":"rt"}"#)
        let person = ScriptedPerson(memory: bench.memory)
        let outcome = await bench.server.logIn(LoginRequest(flow: .clientCredentials), conversation: person)
        let grant = try #require(outcome.granted)
        #expect(grant.renewal == .withoutLogin)
        #expect(grant.tokens.refreshToken == nil)
        #expect(
            bench.exchange.sent.first?.form
                == ["grant_type": "client_credentials", "scope": "api", "client_id": "cli"]
        )
    }

    @Test func `client credentials without a secret are a wrong configuration`() async throws {
        let bench = try Bench(.fixed())
        let person = ScriptedPerson(memory: bench.memory)
        let outcome = await bench.server.logIn(LoginRequest(flow: .clientCredentials), conversation: person)
        #expect(outcome.failure?.kind == .misconfigured)
    }

    @Test func `an imported refresh token stays in use when the server keeps it`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(token, #"{"access_token":"at"}"#)
        let person = ScriptedPerson(memory: bench.memory) { $0.kind == .refreshToken ? "imported" : nil }
        let outcome = await bench.server.logIn(LoginRequest(flow: .import), conversation: person)
        guard case .refreshToken(let kept) = try #require(outcome.granted).renewal else {
            Issue.record("\(outcome)")
            return
        }
        #expect(try bench.text(kept) == "imported")
        #expect(bench.memory.kind(of: kept) == .refreshToken)
        #expect(bench.exchange.sent.first?.form["refresh_token"] == "imported")
    }

    @Test func `of an imported refresh token the server replaces only the caller's copy is left`()
        async throws
    {
        let bench = try Bench(.fixed())
        let token = try bench.secret("imported")
        bench.exchange.expect(self.token, #"{"access_token":"at","refresh_token":"next"}"#)
        let person = ScriptedPerson(memory: bench.memory)
        let outcome = await bench.server.logIn(
            LoginRequest(flow: .import, secret: token),
            conversation: person
        )
        #expect(try bench.text(outcome.granted?.tokens.refreshToken) == "next")
        #expect(bench.memory.kind(of: token) == .refreshToken)
        let imported = try (1...20).map { SecretID(rawValue: $0) }
            .filter { bench.memory.kind(of: $0) == .refreshToken && $0 != token }
            .map { try bench.text($0) }
        #expect(imported == ["next"])
    }

    @Test func `a dead imported token is no login`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(token, status: 400, #"{"error":"invalid_grant"}"#)
        let person = ScriptedPerson(memory: bench.memory) { _ in "dead" }
        let outcome = await bench.server.logIn(LoginRequest(flow: .import), conversation: person)
        #expect(outcome.failure?.kind == .grantDead)
    }
}
