// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// The command that `tokenctl` names where a server wants more of the login.
@Suite struct StepUpRemedyTests {
    /// Reports a refusal to an agent whose answer has the members.
    private func report(_ members: [String: JSONValue], _ arguments: String...) async throws -> ProgramResult
    {
        var answer = JSONObject()
        answer["action"] = "step_up"
        for (name, value) in members { answer[name] = value }
        let run = try TokenctlRun(.read, .answer(JSONValue.object(answer).text))
        return try await run.run(["report", "work", "--status", "403"] + arguments, input: "token")
    }

    /// The arguments that a shell makes of the remedy.
    private func arguments(in complaint: String) async throws -> [String] {
        let remedy = try #require(complaint.split(separator: "\n  Run: ").last)
        let script = "tokenctl() { for a in \"$@\"; do printf '%s\\n' \"$a\"; done; }\n\(remedy)"
        let result = try await Program.run(["/bin/sh", "-c", script], environment: [:])
        #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
        return result.standardOutput.split(separator: "\n").map(String.init)
    }

    @Test(
        .holds("195"),
        arguments: [
            "mcp:admin", "a b c", "$(touch pwned)", "`id`", "it's", "';reboot;'", "a;b&c|d>e<f",
            "$HOME ~ * ?",
            "#x",
            "!!", "''''", String(repeating: "s ", count: 20).trimmed, String(repeating: "'", count: 1_000),
        ]
    )
    func `whatever a server names is one argument for a shell`(scope: String) async throws {
        let result = try await report(["scope": .string(scope)])
        #expect(result.status == 4 && result.standardOutput.isEmpty, "\(result)")
        #expect(result.standardError.split(separator: "\n").count == 2)
        #expect(try await arguments(in: result.standardError) == ["login", "work", "--scope", scope])
    }

    @Test func `a wish for a stronger and more recent login is named`() async throws {
        let result = try await report(["acr_values": "phr mfa", "max_age": 20])
        #expect(result.status == 4, "\(result)")
        #expect(
            try await arguments(in: result.standardError)
                == ["login", "work", "--acr", "phr mfa", "--max-age", "20s"]
        )
    }

    @Test func `the session is named whose login it is`() async throws {
        let result = try await report(["acr_values": "phr", "source": "home"])
        #expect(result.status == 4, "\(result)")
        #expect(result.standardError.hasPrefix("tokenctl: work: "))
        #expect(try await arguments(in: result.standardError) == ["login", "home", "--acr", "phr"])
    }

    @Test func `with --json the answer is printed, and the status is the same`() async throws {
        let result = try await report(["scope": "x"], "--json")
        let answer = try JSONValue(parsing: result.standardOutput.utf8).object
        #expect(result.status == 4 && answer?["action"] == "step_up" && answer?["scope"] == "x", "\(result)")
    }

    @Test func `the options of a login reach the agent`() async throws {
        let run = try TokenctlRun(
            .read,
            .lines(#"{"event":"done","session":"work","expires_at":1}"#)
        )
        let result = try await run(
            "login",
            "work",
            "--no-browser",
            "--scope",
            "a b",
            "--scope",
            "c",
            "--acr",
            "phr",
            "--max-age",
            "2m"
        )
        #expect(result.status == 0, "\(result)")
        let body = run.agent.requests.first?.split(separator: "\r\n\r\n").last ?? ""
        let wanted: JSONValue = ["scope": "a b c", "acr_values": "phr", "max_age": 120]
        #expect(try JSONValue(parsing: body.utf8) == wanted)
    }
}

extension String {
    fileprivate var trimmed: String { split(separator: " ").joined(separator: " ") }
}
