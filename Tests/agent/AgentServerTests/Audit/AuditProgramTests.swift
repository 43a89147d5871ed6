// SPDX-License-Identifier: MIT

import Synchronization
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// The program of each line, without any rule that asks for it.
@Suite(.timeLimit(.minutes(5)))
struct AuditProgramTests {
    private func harness(_ processes: ScriptedProcesses) async throws -> AgentHarness {
        let agent = try await AgentHarness(processes: processes)
        try await agent.logIn()
        return agent
    }

    private func get(_ agent: AgentHarness, fields: String = "") async throws {
        let peer = try agent.peer()
        try peer.send("GET /v1/sessions/work/token HTTP/1.1\r\nHost: tokenagent\r\n\(fields)\r\n")
        #expect(try await peer.answer().status == 200)
        #expect(try await Polling.until { await agent.runtime.agent.looksUnderWay == 0 })
    }

    @Test(.holds("140")) func `a line names the program and unit of the peer`() async throws {
        let processes = ScriptedProcesses()
        let facts = PeerIdentity(
            programs: [.init(executable: "/usr/bin/curl")],
            unit: "app.service",
            startedAt: Instant(nanoseconds: 1),
            name: "curl",
            executable: "/usr/bin/curl"
        )
        processes.next(facts)
        let agent = try await harness(processes)
        try await get(agent)
        let line = try #require(try await agent.auditLines().last)
        #expect(
            line.members.map(\.name) == ["time", "session", "decision", "kind", "pid", "uid", "exe", "unit"]
        )
        #expect(line["exe"] == "/usr/bin/curl" && line["unit"] == "app.service")
        await agent.stop()
    }

    @Test(.holds("140")) func `tokenctl, which cannot be looked at, is named with those that started it`()
        async throws
    {
        let processes = ScriptedProcesses()
        let facts = PeerIdentity(
            programs: [.init(executable: "/usr/bin/git")],
            unit: nil,
            startedAt: Instant(nanoseconds: 1),
            name: "tokenctl",
            callers: ["/usr/bin/git", "/usr/bin/ma\u{1B}ke"]
        )
        processes.next(facts)
        let agent = try await harness(processes)
        try await get(agent)
        let line = try #require(try await agent.auditLines().last)
        #expect(line["exe"] == nil && line["name"] == "tokenctl")
        #expect(line["callers"]?.array == ["/usr/bin/git", "/usr/bin/ma ke"])
        await agent.stop()
    }

    @Test(.holds("140")) func `a claim is written down as a claim`() async throws {
        let processes = ScriptedProcesses()
        processes.next(nil)
        let agent = try await harness(processes)
        try await get(agent, fields: "Tokenagent-Caller: %2Fusr%2Fbin%2Fgit%0A%22\r\n")
        let line = try #require(try await agent.auditLines().last)
        #expect(line["claimed_caller"] == "/usr/bin/git \"")
        #expect(line["exe"] == nil && line["callers"] == nil)
        await agent.stop()
    }

    @Test func `a later process of the same number is not taken for the peer`() async throws {
        let processes = ScriptedProcesses()
        processes.next(
            PeerIdentity(
                programs: [.init(executable: "/usr/bin/other")],
                unit: nil,
                startedAt: Instant(nanoseconds: .max),
                executable: "/usr/bin/other"
            )
        )
        let agent = try await harness(processes)
        try await get(agent)
        #expect(try await agent.auditLines().last?["exe"] == nil)
        await agent.stop()
    }

    @Test(.holds("140")) func `a look that takes long holds up no token, and completes the line`()
        async throws
    {
        let processes = SlowProcesses()
        let agent = try await AgentHarness(processes: processes)
        try await agent.logIn()
        let peer = try agent.peer()
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 200)
        #expect(await agent.runtime.agent.looksUnderWay > 0)
        processes.finish()
        #expect(try await Polling.until { await agent.runtime.agent.looksUnderWay == 0 })
        #expect(try await agent.auditLines().last?["exe"] == "/usr/bin/slow")
        await agent.stop()
    }
}

/// Looks that end when the test says so.
private final class SlowProcesses: ProcessExamining {
    private struct Gate {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let gate = Mutex(Gate())

    func finish() {
        let waiting = gate.withLock { gate in
            gate.isOpen = true
            defer { gate.waiting = [] }
            return gate.waiting
        }
        for look in waiting { look.resume() }
    }

    func examine(
        _ process: Int32,
        digesting digested: Set<String>
    ) async throws(CommandFailure) -> PeerIdentity {
        await withCheckedContinuation { look in
            let isOpen = gate.withLock { gate in
                if !gate.isOpen { gate.waiting.append(look) }
                return gate.isOpen
            }
            if isOpen { look.resume() }
        }
        return PeerIdentity(
            programs: [],
            unit: nil,
            startedAt: Instant(nanoseconds: 1),
            executable: "/usr/bin/slow"
        )
    }
}
