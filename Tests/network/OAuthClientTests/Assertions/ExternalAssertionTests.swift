// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Assertions signed by other programs, which are read again for every request.
struct ExternalAssertionTests {
    private let token = ClientAssertionTests.token
    private let answer = ClientAssertionTests.answer

    private func profile(_ source: AssertionSource, audience: AssertionAudience = .endpoint) -> ServerProfile
    {
        var profile = ServerProfile.fixed()
        profile.client.proof = .externalAssertion(source, audience)
        return profile
    }

    @Test func `a file is read anew for every request, through links`() async throws {
        let directory = try TemporaryDirectory()
        // As Kubernetes projects a token: token -> ..data/token, ..data -> a directory that is replaced.
        for number in 1...2 {
            #expect(mkdir(directory.path("..\(number)"), 0o700) == 0)
            try directory.write("a.b.\(number)\n", to: "..\(number)/token")
        }
        #expect(symlink("..1", directory.path("..data")) == 0)
        #expect(symlink("..data/token", directory.path("token")) == 0)
        let bench = try Bench(profile(.file(directory.path("token"))))
        bench.exchange.always(token, .json(answer))
        _ = try await bench.refresh()
        #expect(unlink(directory.path("..data")) == 0)
        #expect(symlink("..2", directory.path("..data")) == 0)
        _ = try await bench.refresh()
        #expect(bench.exchange.sent.map { $0.form["client_assertion"] } == ["a.b.1", "a.b.2"])
        #expect(bench.exchange.sent.allSatisfy { $0.form["client_id"] == "cli" })
    }

    @Test func `a command is run for every request`() async throws {
        let bench = try Bench(profile(.command(["svid"])), commands: ScriptedCommands(prints: " a.b.c \n"))
        bench.exchange.always(token, .json(answer))
        for _ in 0..<2 { #expect(try await bench.refresh().granted != nil) }
        #expect(bench.commands.commands == [["svid"], ["svid"]])
        #expect(bench.exchange.sent.last?.form["client_assertion"] == "a.b.c")
    }

    @Test func `without its assertion nothing is sent`() async throws {
        let directory = try TemporaryDirectory()
        let rows: [(String, String)] = [
            (directory.path("missing"), "No such file or directory"),
            (directory.path("."), "is a directory, not a file"),
            (try directory.write("a.b.c", to: "open", mode: 0o666), "is writable by other users"),
            (try directory.write("", to: "empty"), "is empty"),
            (try directory.write("a b", to: "two"), "contains something other than one assertion"),
            (try directory.write(String(repeating: "a", count: 70_000), to: "long"), "is larger than 64 KiB"),
        ]
        for (path, words) in rows {
            let bench = try Bench(profile(.file(path)))
            let failure = try #require(try await bench.refresh().failure)
            #expect(failure.kind == .helperFailed)
            #expect(failure.message == "client_assertion_file \(path): \(words)")
            #expect(bench.exchange.sent.isEmpty)
        }
    }

    @Test func `others may read an assertion, as root's files in a cluster are`() async throws {
        let file = try TemporaryFile("a.b.c", mode: 0o644)
        let bench = try Bench(profile(.file(file.path)))
        bench.exchange.always(token, .json(answer))
        #expect(try await bench.refresh().granted != nil)
    }

    @Test func `a command that fails is told by its name, its output by nobody`() async throws {
        let bench = try Bench(profile(.command(["svid"])), commands: ScriptedCommands(prints: "x", status: 3))
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.message == "client_assertion_command: svid: exit status 3")
        #expect(bench.exchange.sent.isEmpty)
    }

    // MARK: GitHub Actions

    private static let job = "https://vstoken.example/idtoken?api-version=2.0"

    private func bench(
        _ audience: AssertionAudience = .endpoint,
        address: String = job
    ) throws -> Bench {
        try Bench(
            profile(.gitHubActions, audience: audience),
            workflow: { memory in
                GitHubActionsTokenService(
                    address: address,
                    bearer: try memory.sealing("job-bearer", as: .clientSecret)
                )
            }
        )
    }

    @Test(.holds("205")) func `a job's token is asked for with the audience it is for`() async throws {
        for (audience, encoded) in [
            (AssertionAudience.endpoint, "https%3A%2F%2Ftokens.example%2Ftoken"),
            (.other("api://x"), "api%3A%2F%2Fx"),
        ] {
            let bench = try bench(audience)
            bench.exchange.expect("\(Self.job)&audience=\(encoded)", #"{"count":3,"value":"a.b.c"}"#)
            bench.exchange.expect(token, answer)
            #expect(try await bench.refresh().granted != nil)
            let sent = bench.exchange.sent
            #expect(sent[0].method == "GET" && sent[0].headers["authorization"] == "Bearer job-bearer")
            #expect(sent[1].form["client_assertion"] == "a.b.c" && sent[1].headers["authorization"] == nil)
        }
    }

    @Test(
        .holds("205"),
        arguments: [
            (200, "{}", FailureClass.busy), (200, "no", .busy), (200, #"{"value":"a b"}"#, .busy),
            (500, "", .busy),
            (401, "", .misconfigured), (403, "", .misconfigured),
        ]
    )
    func `without a job's token nothing is sent`(status: Int, body: String, kind: FailureClass) async throws {
        let bench = try bench(.other("x"))
        bench.exchange.expect("\(Self.job)&audience=x", status: status, body)
        #expect(try await bench.refresh().failure?.kind == kind)
        #expect(bench.exchange.posts(to: token).isEmpty)
    }

    @Test(.holds("205")) func `a request for a job's token that is lost costs the refresh token nothing`()
        async throws
    {
        let bench = try bench(.other("x"))
        bench.exchange.expect("\(Self.job)&audience=x", .failure(.ambiguous("lost")))
        #expect(try await bench.refresh().failure?.kind == .unreachable)
    }

    @Test(.holds("205")) func `a job's token is asked for over TLS alone`() async throws {
        let bench = try bench(address: "http://vstoken.example/")
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.message.hasPrefix("ACTIONS_ID_TOKEN_REQUEST_URL must begin with https://"))
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `what locks the agent ends what the job has given it`() async throws {
        let bench = try bench(.other("x"))
        bench.memory.lock()
        try bench.memory.unlock()
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.kind == .misconfigured && failure.remedy?.text.contains("id-token: write") == true)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test(.holds("205")) func `an agent that no job has started says so`() async throws {
        let bench = try Bench(profile(.gitHubActions))
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.kind == .misconfigured && failure.remedy?.text.contains("id-token: write") == true)
    }
}
