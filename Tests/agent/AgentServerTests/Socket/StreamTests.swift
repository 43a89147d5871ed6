// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// Answers without an end, and peers that do not read them.
///
/// Memory is measured in processes of their own: no other test uses any there.
@Suite(.timeLimit(.minutes(10)))
struct StreamTests {
    @Test(.holds("11")) func `sixty event streams that nobody reads are dropped at a megabyte each`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            try await Flood(of: "/v1/events").run { agent in await agent.announceMuch() }
        }
        Attachment.record(Flood.figure(of: result), named: "figure")
    }

    @Test(.holds("11")) func `sixty audit streams that nobody reads are dropped at a megabyte each`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            try await Flood(of: "/v1/audit?follow=1").run { agent in await agent.auditMuch() }
        }
        Attachment.record(Flood.figure(of: result), named: "figure")
    }

    @Test(.holds("11")) func `a log of many megabytes costs no memory while nobody reads it`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let agent = try await AgentHarness()
            let line = #"{"time":1,"session":"work","decision":"served","kind":"access","pid":1,"uid":1}"#
            try agent.directory.write(String(repeating: line + "\n", count: 100_000), to: "audit.log")
            let before = Flood.residentMegabytes
            let idle = try (0..<60).map { _ in
                let peer = try agent.peer()
                try peer.send(SocketPeer.request("GET", "/v1/audit"))
                return peer
            }
            for peer in idle { _ = try await peer.streamHead() }
            _ = try await agent.peer().exchange("GET", "/v1")
            let grown = Flood.residentMegabytes - before
            print("60 times 8 MB of log unread: \(grown) MiB more")
            exit(grown < 100 && idle.count == 60 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
        Attachment.record(Flood.figure(of: result), named: "figure")
    }

    @Test(arguments: ["", "?follow=1", "?session=work"])
    func `a long log arrives whole, also what is added meanwhile`(query: String) async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let line = #"{"time":1,"session":"work","decision":"served","kind":"access","pid":1,"uid":1}"# + "\n"
        try agent.directory.write(String(repeating: line, count: 10_000), to: "audit.log.1")
        try agent.directory.write(String(repeating: line, count: 10_000), to: "audit.log")
        let reader = try agent.peer()
        try reader.send(SocketPeer.request("GET", "/v1/audit" + query))
        _ = try await reader.streamHead()
        // The reader has only begun to read.
        let peer = try agent.peer()
        for _ in 0..<10 { _ = try await peer.exchange("GET", "/v1/sessions/work/token") }
        var lines = 0
        while query.contains("follow") ? lines < 20_010 : true {
            let chunk = try await reader.chunk()
            if chunk == "" { break }
            #expect(chunk.hasSuffix("}\n"))
            lines += chunk.utf8.count { $0 == UInt8(ascii: "\n") }
        }
        #expect(lines >= 20_000 && lines <= 20_020)
        await agent.stop()
    }

    @Test func `a peer that stops reading for a while loses nothing`() async throws {
        let agent = try await AgentHarness()
        let slow = try agent.peer()
        try slow.send(SocketPeer.request("GET", "/v1/events"))
        _ = try await slow.streamHead()
        await agent.runtime.agent.announce(events: 1_000)
        var text = ""
        while text.occurrences(of: "refresh_failed") < 1_000 { text += try await slow.chunk() }
        #expect(text.utf8.last == UInt8(ascii: "\n"))
        await agent.stop()
    }

    @Test(.holds("127")) func `a watch that read nothing is told so once it reads, and goes on`() async throws
    {
        let agent = try await AgentHarness()
        let watch = try await agent.dropped("watch") { agent in await agent.announceMuch() }
        #expect(try await Polling.until { await agent.runtime.agent.streamCount == 1 })
        await agent.runtime.agent.announceExpiry()
        _ = try await watch.outputLine(containing: "expiring")
        let complaint = "tokenctl: events are missing here: they were not read in time\n"
        #expect(watch.standardError == complaint)
        await agent.stop()
        let result = try await watch.finish()
        #expect(result.standardError == complaint + "tokenctl: the agent has ended\n")
        #expect(result.status == 3)
    }

    @Test(.holds("127")) func `a follower of the audit log that read nothing ends with 5, and says why`()
        async throws
    {
        let agent = try await AgentHarness()
        let audit = try await agent.dropped("audit", "--follow") { agent in await agent.auditMuch() }
        let result = try await audit.finish()
        #expect(
            result.standardError
                == "tokenctl: lines are missing from here on: they were not read in time\n  Run: tokenctl audit --follow\n"
        )
        #expect(result.status == 5)
        // The command that it says shows the lines that follow.
        let again = try agent.tokenctl("audit", "--follow")
        #expect(try await Polling.until { await agent.runtime.agent.streamCount == 1 })
        await agent.runtime.agent.auditMuch()
        _ = try await again.outputLine(containing: "work")
        #expect(again.standardError.isEmpty)
        await agent.stop()
    }
}

extension AgentHarness {
    fileprivate func tokenctl(_ arguments: String...) throws -> Program { try tokenctl(arguments) }

    private func tokenctl(_ arguments: [String]) throws -> Program {
        try Program(
            [BuiltPrograms.client] + arguments,
            environment: ["TOKENAGENT_SOCK": path, "TOKENAGENT_AUTOSTART": "0", "HOME": "/nonexistent"]
        )
    }

    /// A `tokenctl` that was stopped until the agent gave it up, and goes on now.
    fileprivate func dropped(
        _ arguments: String...,
        while happen: (SessionAgent) async -> Void
    ) async throws -> Program {
        let program = try tokenctl(arguments)
        try #require(try await Polling.until { await runtime.agent.streamCount == 1 })
        program.signal(.stop)
        try #require(
            try await Polling.until {
                await happen(runtime.agent)
                return await runtime.agent.streamCount == 0
            }
        )
        program.signal(.proceed)
        return program
    }
}

/// Sixty streams that nobody reads, and one that somebody does.
private struct Flood: Sendable {
    let target: String

    init(of target: String) {
        self.target = target
    }

    /// Ends the process: well, if all but the one that is read were dropped, for less than 100 MiB.
    func run(_ happen: @Sendable (SessionAgent) async -> Void) async throws {
        let agent = try await AgentHarness()
        let streams = try (0..<60).map { _ in
            let peer = try agent.peer()
            try peer.send(SocketPeer.request("GET", target))
            return peer
        }
        let reader = try agent.peer()
        try reader.send(SocketPeer.request("GET", target))
        _ = try await reader.streamHead()
        _ = try await Polling.until { await agent.runtime.agent.streamCount == 61 }
        let reading = Task { while try await reader.chunk() != "" {} }
        let before = Flood.residentMegabytes
        var most = before
        // 1.5 MB of lines, as many as a day brings, in a moment.
        for _ in 0..<20 {
            await happen(agent.runtime.agent)
            _ = try await agent.peer().exchange("GET", "/v1")
            most = max(most, Flood.residentMegabytes)
        }
        // Not by the limit for those that stall, which is ten seconds.
        let start = ContinuousClock.now
        let areDropped = try await Polling.until { await agent.runtime.agent.streamCount == 1 }
        let time = ContinuousClock.now - start
        print("60 streams unread: \(most - before) MiB more, dropped after another \(time)")
        reading.cancel()
        exit(areDropped && most - before < 100 && streams.count == 60 ? EXIT_SUCCESS : EXIT_FAILURE)
    }

    static func figure(of result: ExitTest.Result?) -> String {
        String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
            .split(separator: "\n").last { $0.contains("MiB") }.map(String.init) ?? "none"
    }

    static var residentMegabytes: Int {
        let pages = File.text("/proc/self/statm")?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return ((pages ?? 0) * Int(getpagesize())) >> 20
    }
}

extension SessionAgent {
    /// Peers that follow events or the audit log.
    fileprivate var streamCount: Int { subscriberCount + parts.audit.followerCount }

    fileprivate func announce(events: Int) {
        let message = String(repeating: "x", count: 500)
        let time = ports.timekeeper.wallTime
        for _ in 0..<events {
            let event = AgentEvent(.refreshFailed, session: nil, time: time, message: message)
            parts.events.publish(event)
        }
    }

    fileprivate func announceExpiry() {
        let event = AgentEvent(.expiring, session: nil, time: ports.timekeeper.wallTime)
        parts.events.publish(event)
    }

    /// 75 kB of events.
    fileprivate func announceMuch() { announce(events: 130) }

    /// 75 kB of audit lines.
    fileprivate func auditMuch() {
        let record = AuditRecord(
            time: ports.timekeeper.wallTime,
            session: AgentHarness.work,
            subject: .accessToken,
            decision: .served,
            origin: RequestInitiator(PeerCredentials(processID: 1, userID: 1), nil)
        )
        parts.audit.followers.written(Array(repeating: record, count: 850))
    }
}
