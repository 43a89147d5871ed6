// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Audit log entries for actions on sessions and on the agent, with the peer that requested them.
@Suite(.timeLimit(.minutes(10)))
struct AuditActionTests {
    private func actions(_ agent: AgentHarness) async throws -> [JSONObject] {
        try await agent.wholeAudit().filter { $0["action"] != nil }
    }

    private func words(_ line: JSONObject) -> String {
        [line["action"], line["session"], line["decision"]].compactMap { $0?.string }.joined(separator: " ")
    }

    @Test(.holds("140")) func `a login and a logout are lines with the peer`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        #expect(
            try await peer.exchange("POST", "/v1/sessions/work/logout", body: #"{"local":true}"#).status
                == 200
        )
        try peer.send(SocketPeer.request("POST", "/v1/sessions/home/login", body: "{}"))
        await agent.serving.nextLogIn().answer(
            .failed(RefreshFailure(kind: .interactionRequired, message: "no"))
        )
        _ = try await peer.streamHead()
        _ = try await peer.chunk()
        let lines = try await actions(agent)
        #expect(lines.map(words) == ["login work done", "logout work done", "login home failed"])
        for line in lines {
            #expect(line.members.map(\.name) == ["time", "session", "decision", "action", "pid", "uid"])
            #expect(line["pid"]?.integer == Int64(getpid()))
            #expect(line["uid"]?.integer == Int64(geteuid()))
        }
        await agent.stop()
    }

    @Test(.holds("140")) func `locks and unlocks are lines, a failed one and one by signal too`() async throws
    {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        _ = try await peer.exchange("POST", "/v1/lock")
        _ = try await peer.exchange("POST", "/v1/unlock", body: #"{"passphrase":"wrong"}"#)
        await agent.advance(by: .milliseconds(100))
        _ = try await peer.exchange("POST", "/v1/unlock", body: #"{"passphrase":"open sesame"}"#)
        await agent.runtime.agent.lock()
        _ = try await peer.exchange("POST", "/v1/unlock", body: #"{"passphrase":"open sesame"}"#)
        let lines = try await actions(agent)
        #expect(
            lines.map(words) == ["lock done", "unlock failed", "unlock done", "lock done", "unlock done"]
        )
        #expect(lines.map { $0["by"]?.string } == [nil, nil, nil, "signal", nil])
        #expect(lines.map { $0["pid"] != nil } == [true, true, true, false, true])
        await agent.stop()
    }

    @Test func `changes of how the store is unlocked are lines`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        let slot = #"{"type":"passphrase","passphrase":"another one"}"#
        _ = try await peer.exchange("POST", "/v1/vault/slots", body: slot)
        _ = try await peer.exchange("DELETE", "/v1/vault/slots/77")
        _ = try await peer.exchange("POST", "/v1/vault/rekey", body: "{}")
        let lines = try await actions(agent)
        #expect(lines.compactMap { $0["action"]?.string } == ["slot_add", "slot_remove", "rekey"])
        #expect(lines.allSatisfy { $0["pid"]?.integer == Int64(getpid()) })
        await agent.stop()
    }

    @Test func `a stop that was asked for is a line`() async throws {
        let agent = try await AgentHarness()
        _ = try await agent.peer().exchange("POST", "/v1/shutdown")
        await agent.stop()
        let text = try #require(File.text(agent.directory.path("audit.log")))
        #expect(text.contains(#""decision":"done","action":"shutdown","pid":"#))
    }

    @Test func `a question about one session shows no line of another or of the agent`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        _ = try await peer.exchange("POST", "/v1/reload")
        let answer = try await peer.exchange("GET", "/v1/audit?session=work")
        #expect(answer.body.contains(#""action":"login""#) && !answer.body.contains("reload"))
        await agent.stop()
    }
}
