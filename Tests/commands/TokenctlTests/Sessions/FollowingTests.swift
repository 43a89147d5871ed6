// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// Streams that the agent has cut off, as it does with a reader that is too slow.
@Suite struct `following an agent that is still there` {
    private static let first = #"{"event":"refreshed","session":"work","time":1}"#
    private static let second = #"{"event":"locked","time":2}"#
    private static let served =
        #"{"time":1700000000,"session":"work","decision":"served","kind":"access","pid":7,"uid":1000}"#

    /// An endless answer that holds these lines.
    private static func stream(_ text: String, isWhole: Bool = false) -> ScriptedAgent.Step {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunk = "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
        return .send(Array((head + chunk + (isWhole ? "0\r\n\r\n" : "")).utf8))
    }

    @Test(.holds("127"), arguments: ["", #"{"event":"logged"#])
    func `watch says where events are missing and goes on, without half of one`(half: String) async throws {
        let tokenctl = try TokenctlRun(connections: [
            [.read, Self.stream("\(Self.first)\n\(half)")],
            [.read, .answer("{}"), .read, Self.stream("\(Self.second)\n", isWhole: true)],
        ])
        let result = try await tokenctl("watch", "work")
        #expect(result.standardOutput == "\(Self.first)\n\(Self.second)\n")
        #expect(
            result.standardError == """
                tokenctl: events are missing here: they were not read in time
                tokenctl: the agent has ended

                """
        )
        #expect(result.status == 3)
        #expect(tokenctl.agent.requests.count { $0.hasPrefix("GET /v1/events?session=work ") } == 2)
    }

    @Test(.holds("127"), arguments: [["watch"], ["audit", "--follow"]])
    func `an agent that takes a connection and does not answer has ended`(command: [String]) async throws {
        let tokenctl = try TokenctlRun(connections: [[.read, Self.stream("{\"time\"")], []])
        let result = try await tokenctl.run(command)
        #expect(result.all == (3, "", "tokenctl: the agent has ended\n"))
    }

    @Test(
        .holds("127"),
        arguments: [
            (["audit", "--follow"], "tokenctl audit --follow"),
            (["audit", "work", "--follow"], "tokenctl audit work --follow"),
            (["audit"], "tokenctl audit"),
        ]
    )
    func `audit is 5 where lines are missing, and says how to have them`(
        command: [String],
        again: String
    ) async throws {
        let tokenctl = try TokenctlRun { request in
            request.hasPrefix("GET /v1/audit") ? Self.stream("\(Self.served)\n{\"time\"") : .answer("{}")
        }
        let result = try await tokenctl.run(command)
        let line = "2023-11-14T22:13:20Z  served  work  process 7  user 1000\n"
        let complaint =
            "tokenctl: lines are missing from here on: they were not read in time\n  Run: \(again)\n"
        #expect(result.all == (5, line, complaint))
        let json = try await tokenctl.run(command + ["--json"])
        #expect(json.status == 5)
        #expect(json.standardOutput.hasPrefix("\(Self.served)\n"))
        #expect(json.standardOutput.contains(#"{"error":{"code":"temporarily_unavailable","#))
        #expect(json.standardError == complaint)
    }
}
