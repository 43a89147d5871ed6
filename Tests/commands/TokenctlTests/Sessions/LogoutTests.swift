// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@Suite struct `tokenctl logout` {
    private static let done = #"{"session":"a","state":"logged_out","revoked":true}"#
    private static let unfinished =
        #"{"session":"work","state":"logged_out","revoked":false,"told":"retrying","message":"No answer."}"#

    private func documents(_ result: ProgramResult) throws -> [JSONObject] {
        try result.standardOutput.split(separator: "\n").map { line in
            try #require(try JSONValue(parsing: line.utf8).object)
        }
    }

    @Test func `logging out of all goes on after a failure and reports it`() async throws {
        let sessions =
            #"{"sessions":[{"session":"a","state":"ready"},{"session":"b","state":"logged_out","reason":"logged_out"},{"session":"c","state":"logged_out","reason":"grant_dead"}]}"#
        let failed = #"{"error":{"code":"temporarily_unavailable","message":"no answer"}}"#
        let tokenctl = try TokenctlRun(connections: [
            [.read, .answer(sessions)], [.read, .answer(failed, status: 503)], [.read, .answer("{}")],
        ])
        let result = try await tokenctl("logout", "--all")
        #expect(result.status == 5)
        let asked = tokenctl.agent.requests.map { $0.prefix { $0 != "\r\n" } }
        // A session that has ended by itself may still serve its last token.
        #expect(asked.dropFirst().map { $0.split(separator: "/")[3] } == ["a", "c"])
    }

    @Test func `one JSON document tells what came of it, the failure included`() async throws {
        let tokenctl = try TokenctlRun(.read, .answer(Self.unfinished))
        let result = try await tokenctl("logout", "work", "--json")
        #expect(result.status == 5)
        #expect(
            result.standardError == """
                tokenctl: work: logged out here, but not yet at the server (the agent retries): No answer

                """
        )
        let document = try #require(try documents(result).first)
        #expect(try documents(result).count == 1)
        #expect(document["session"] == "work" && document["revoked"] == false)
        #expect(document["error"]?.object?["code"] == "temporarily_unavailable")
        #expect(document["error"]?.object?["session"] == "work")
    }

    /// The revocation status, the exit status, and parts of standard output and of standard error.
    @Test(
        arguments: [
            ("revoked", 0, "", ""), ("nothing", 0, "", ""), ("local", 0, "", ""),
            ("unsupported", 0, "logged out here only: why", ""),
            (
                "refused", 2, "",
                "the server rejected the revocation: why\n  See: the sessions of your account at the server\n"
            ),
            ("retrying", 5, "", "not yet at the server (the agent retries): why\n"),
        ] as [(String, Int32, String, String)]
    )
    func `what came of it is said truthfully`(
        told: String,
        status: Int32,
        output: String,
        complaint: String
    ) async throws {
        let message = output.isEmpty && complaint.isEmpty ? "" : #","message":"why""#
        let isRevoked = told == "revoked"
        let answer =
            #"{"session":"work","state":"logged_out","revoked":\#(isRevoked),"told":"\#(told)"\#(message)}"#
        let result = try await TokenctlRun(.read, .answer(answer))("logout", "work")
        #expect(result.status == status, "\(result)")
        #expect(
            result.standardOutput.isEmpty == output.isEmpty
                && (output.isEmpty || result.standardOutput.contains(output))
        )
        #expect(result.standardError.isEmpty == complaint.isEmpty)
        #expect(complaint.isEmpty || result.standardError.contains(complaint))
    }

    @Test func `an agent that refuses is one JSON document too`() async throws {
        let refusal = #"{"error":{"code":"not_found","message":"There is no session work."}}"#
        let tokenctl = try TokenctlRun(.read, .answer(refusal, status: 404))
        let result = try await tokenctl("logout", "work", "--json")
        #expect(result.status == 7)
        let documents = try documents(result)
        #expect(documents.count == 1)
        #expect(documents.first?["error"]?.object?["code"] == "not_found")
    }

    /// Answers `n` to a prompt, and returns the screen.
    private func logOutAtTerminal(role: String) async throws -> (screen: String, requests: [String]) {
        let sessions =
            #"{"sessions":[{"session":"work","state":"ready","fleet":true,"fleet_role":"\#(role)"}]}"#
        let tokenctl = try TokenctlRun { request in
            .answer(request.hasPrefix("GET /v1/sessions ") ? sessions : Self.done)
        }
        let terminal = try ProgramAtTerminal(
            ["/bin/sh", "-c", "'\(BuiltPrograms.client)' logout work; echo exit status $?"],
            environment: ["TOKENAGENT_SOCK": tokenctl.agent.socket, "TOKENAGENT_AUTOSTART": "0"]
        )
        if role == "keeper" { try await terminal.type("n", after: "every host of the fleet") }
        #expect(try await terminal.shows("exit status"))
        return (terminal.screen, tokenctl.agent.requests)
    }

    @Test func `a person who says no has refused, and nothing is logged out`() async throws {
        let (screen, requests) = try await logOutAtTerminal(role: "keeper")
        #expect(screen.contains("nothing was logged out") && screen.contains("exit status 8"), "\(screen)")
        #expect(requests.count == 1)
    }

    @Test func `at a reader nobody is asked: it logs out for itself alone`() async throws {
        let (screen, requests) = try await logOutAtTerminal(role: "reader")
        #expect(screen.contains("exit status 0") && !screen.contains("Continue?"), "\(screen)")
        #expect(requests.count == 2)
    }

    @Test func `of all sessions each is one JSON document`() async throws {
        let sessions =
            #"{"sessions":[{"session":"a","state":"ready"},{"session":"work","state":"ready"},{"session":"c","state":"ready"}]}"#
        let failed = #"{"error":{"code":"internal","message":"no disk"}}"#
        let tokenctl = try TokenctlRun(connections: [
            [.read, .answer(sessions)], [.read, .answer(Self.done)], [.read, .answer(Self.unfinished)],
            [.read, .answer(failed, status: 500)],
        ])
        let result = try await tokenctl("logout", "--all", "--json")
        #expect(result.status == 5)
        let documents = try documents(result)
        #expect(documents.map { $0["session"]?.string } == ["a", "work", "c"])
        #expect(
            documents.map { $0["error"]?.object?["code"]?.string } == [
                nil, "temporarily_unavailable", "internal",
            ]
        )
        #expect(result.standardOutput.hasPrefix(Self.done + "\n"))
    }
}
