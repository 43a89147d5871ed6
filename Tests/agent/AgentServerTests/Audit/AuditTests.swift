// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// The audit log: a line for each token, never a token.
@Suite(.timeLimit(.minutes(10)))
struct AuditTests {
    @Test(.holds("140")) func `each token is a line that says who got it, and no token`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        for _ in 0..<5 { _ = try await peer.exchange("GET", "/v1/sessions/work/token") }
        try peer.send(SocketPeer.request("HEAD", "/v1/sessions/work/token"))
        #expect(try await peer.streamHead().hasPrefix("HTTP/1.1 200 "))
        let lines = try await agent.auditLines()
        #expect(lines.count == 5)
        for line in lines {
            #expect(line.members.map(\.name) == ["time", "session", "decision", "kind", "pid", "uid"])
            #expect(line["time"]?.integer == agent.time.wallTime.secondsSince1970)
            #expect(line["session"]?.string == "work")
            #expect(line["decision"]?.string == "served")
            #expect(line["kind"]?.string == "access")
            #expect(line["pid"]?.integer == Int64(getpid()))
            #expect(line["uid"]?.integer == Int64(geteuid()))
        }
        let path = agent.directory.path("audit.log")
        #expect(File.mode(path) == 0o600)
        #expect(File.text(path)?.contains("token-1") == false)
        await agent.stop()
    }

    @Test(.holds("140")) func `a thousand waiters of one refresh are a thousand lines`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(100))
        agent.time.advance(by: .seconds(100))
        let peers = try (0..<1000).map { _ in
            let peer = try agent.peer()
            try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token"))
            return peer
        }
        let refresh = await agent.serving.nextRefresh()
        _ = try await Polling.until { try await agent.waiters("work") == 1000 }
        refresh.answer(.granted(try agent.granted("token-2")))
        for peer in peers { _ = try await peer.answer() }
        let count = try await agent.auditLines().count
        #expect(count == 1000)
        Attachment.record("1000 tokens, \(count) lines", named: "figure")
        await agent.stop()
    }

    @Test(.holds("140")) func `no line is lost where the file is put aside`() async throws {
        let agent = try await AgentHarness(auditLimit: 8_000)
        try await agent.logIn()
        let peer = try agent.peer()
        var seen = 0
        for _ in 0..<20 {
            for _ in 0..<10 { _ = try await peer.exchange("GET", "/v1/sessions/work/token") }
            let lines = try await agent.auditLines()
            // The file before the last is given up as a whole; what is there has no gap at its end.
            #expect(lines.count > min(seen, 50))
            seen += 10
        }
        let size = try #require(File.text(agent.directory.path("audit.log"))).utf8.count
        #expect(size <= 8_000)
        #expect(File.mode(agent.directory.path("audit.log.1")) == 0o600)
        await agent.stop()
    }

    @Test(arguments: [70_000, 65_535, 65_536, 200_000])
    func `a line too long to be ours is left out, to its end`(length: Int) async throws {
        let agent = try await AgentHarness()
        let foreign = String(repeating: "x", count: length) + "\n"
        try agent.directory.write(foreign, to: "audit.log", mode: 0o600)
        try await agent.logIn()
        let peer = try agent.peer()
        _ = try await peer.exchange("GET", "/v1/sessions/work/token")
        let lines = try await peer.exchange("GET", "/v1/audit").body
        // A line of one piece at most is whole, and passed on as it is.
        #expect(lines.contains("xx") == (length < 65_536))
        #expect(lines.contains(#""session":"work""#))
        await agent.stop()
    }

    @Test func `one session's lines can be asked for, and followed`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(AgentHarness.work)
        try await agent.logIn(AgentHarness.home, token: "home-1")
        let peer = try agent.peer()
        _ = try await peer.exchange("GET", "/v1/sessions/work/token")
        _ = try await peer.exchange("GET", "/v1/sessions/home/token")
        let answer = try await peer.exchange("GET", "/v1/audit?session=home")
        #expect(answer.body.split(separator: "\n").count == 2)
        #expect(!answer.body.contains("\"work\""))
        let follower = try agent.peer()
        try follower.send(SocketPeer.request("GET", "/v1/audit?session=work&follow=1"))
        _ = try await follower.streamHead()
        #expect(try await follower.chunk().contains("\"work\""))
        _ = try await peer.exchange("GET", "/v1/sessions/home/token")
        _ = try await peer.exchange("GET", "/v1/sessions/work/token?min_valid=1")
        let line = try await follower.chunk()
        #expect(line.contains("\"work\"") && !line.contains("\"home\""))
        for query in ["session=", "follow=2", "x=1", "session=a&session=b"] {
            #expect(try await peer.exchange("GET", "/v1/audit?\(query)").status == 400)
        }
        await agent.stop()
    }

    @Test(arguments: ["", "&follow=1"])
    func `a session without lines must be one that is configured`(rest: String) async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        for name in ["nosuch", "no%20such"] {
            let answer = try await peer.exchange("GET", "/v1/audit?session=\(name)\(rest)")
            #expect(answer.status == 404)
            #expect(answer.body.contains(#""code":"not_found""#))
        }
        try peer.send(SocketPeer.request("GET", "/v1/audit?session=work\(rest)"))
        #expect(try await peer.streamHead().hasPrefix("HTTP/1.1 200 "))
        await agent.stop()
    }

    @Test func `a session that is no longer configured can be asked for as long as it has lines`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        _ = try await peer.exchange("GET", "/v1/sessions/work/token")
        agent.configuration.change { $0.sessions = [:] }
        #expect(try await peer.exchange("POST", "/v1/reload").status == 200)
        let answer = try await peer.exchange("GET", "/v1/audit?session=work")
        #expect(answer.status == 200 && answer.body.contains("\"served\""))
        #expect(try await peer.exchange("GET", "/v1/audit?session=home").status == 404)
        await agent.stop()
    }

    @Test(.holds("140")) func `a stop writes what is still in memory`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        _ = try await agent.peer().exchange("GET", "/v1/sessions/work/token")
        await agent.stop()
        #expect(File.text(agent.directory.path("audit.log"))?.split(separator: "\n").count == 2)
    }

    @Test(.holds("140")) func `a log that cannot be written hinders nobody, and its gap is told`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn()
        // A directory in its place is like a full disk to the agent: nothing can be written.
        try agent.directory.makeDirectory("audit.log")
        let peer = try agent.peer()
        for _ in 0..<7 { #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 200) }
        #expect(try await agent.auditLines().isEmpty)
        rmdir(agent.directory.path("audit.log"))
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 200)
        let lines = try await agent.auditLines()
        #expect(lines.map { $0["dropped"]?.integer } == [8, nil])
        await agent.stop()
    }

    @Test(arguments: ["link", "hard link"])
    func `a planted link is not written through`(kind: String) async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let target = try agent.directory.write("mine", to: "target")
        let path = agent.directory.path("audit.log")
        #expect((kind == "link" ? symlink(target, path) : link(target, path)) == 0)
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/work/token").status == 200)
        _ = try await agent.auditLines()
        #expect(File.text(target) == "mine")
        await agent.stop()
    }

    @Test func `nothing is written where it is switched off`() async throws {
        let agent = try await AgentHarness.configured { configuration, _ in configuration.keepsAudit = false }
        try await agent.logIn()
        _ = try await agent.peer().exchange("GET", "/v1/sessions/work/token")
        #expect(try await agent.auditLines().isEmpty)
        await agent.stop()
        #expect(!File.exists(agent.directory.path("audit.log")))
    }
}
