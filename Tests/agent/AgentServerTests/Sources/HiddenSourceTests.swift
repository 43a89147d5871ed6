// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// A session that every program may see, made from one that is for git alone: `home` of `work`.
@Suite(.timeLimit(.minutes(10)))
struct HiddenSourceTests {
    private static let git = "/usr/bin/git"
    private static let curl = "/usr/bin/curl"

    private static func agent(_ processes: ScriptedProcesses) async throws -> AgentHarness {
        processes.next(program: git)
        return try await AgentHarness.configured(processes: processes) { configuration, _ in
            configuration.sessions[AgentHarness.work]?.rules = [AllowRule(executable: git)]
            configuration.sessions[AgentHarness.home]?.policy.startsByItself = true
            configuration.sessions[AgentHarness.home]?.policy.tokensOutliveLogin = false
            configuration.sessions[AgentHarness.home]?.loginSubstitute = .run("tokenctl login work")
            configuration.sessions[AgentHarness.home]?.sources = SessionSources(
                subject: SessionSources.Source(session: AgentHarness.work)
            )
        }
    }

    private func json(_ answer: SocketPeer.Answer) throws -> JSONObject {
        try #require(try JSONValue(parsing: answer.body.utf8).object)
    }

    private func failure(_ answer: SocketPeer.Answer) throws -> JSONObject {
        try #require(try json(answer)["error"]?.object)
    }

    @Test(.holds("186")) func `a source is named to those who may know of it, and left out for others`()
        async throws
    {
        let processes = ScriptedProcesses()
        let agent = try await Self.agent(processes)
        for (program, mayKnow) in [(Self.git, true), (Self.curl, false)] {
            processes.next(program: program)
            let peer = try agent.peer()
            let token = try await peer.exchange("GET", "/v1/sessions/home/token")
            #expect(token.status == 401 && token.body.contains("work") == mayKnow, "\(token.body)")
            let remedy = try failure(token)["remedy"]?.string
            #expect(remedy == (mayKnow ? "tokenctl login work" : nil))
            #expect(token.body.contains("the session that its tokens are made from has no token") != mayKnow)
            let status = try await peer.exchange("GET", "/v1/sessions/home")
            #expect(try json(status)["source"]?.string == (mayKnow ? "work" : nil))
            #expect(status.status == 200 && status.body.contains("work") == mayKnow, "\(status.body)")
            let login = try await peer.exchange("POST", "/v1/sessions/home/login", body: "{}")
            #expect(login.status == 400 && login.body.contains("work") == mayKnow, "\(login.body)")
            #expect(try failure(login)["remedy"]?.string == (mayKnow ? "tokenctl login work" : nil))
        }
        await agent.stop()
    }

    @Test(.holds("186")) func `events and the audit log name no hidden source, and the file keeps it`()
        async throws
    {
        let processes = ScriptedProcesses()
        let agent = try await Self.agent(processes)
        try await agent.logIn()
        var made = try agent.granted("home-1")
        made.origin = IssuanceContext(tokenEndpoint: "https://id.example/token")
        await agent.serving.nextRefresh().answer(.granted(made))
        processes.next(program: Self.curl)
        let outsider = try agent.peer()
        #expect(
            try await Polling.until {
                try await outsider.exchange("GET", "/v1/sessions/home/token").body.contains("home-1")
            }
        )
        let follower = try agent.peer()
        try follower.send(SocketPeer.request("GET", "/v1/events?session=home"))
        _ = try await follower.streamHead()
        let shown = try await outsider.exchange("GET", "/v1/audit")
        #expect(shown.body.contains("\"home\"") && !shown.body.contains("work"), "\(shown.body)")
        for line in shown.body.split(separator: "\n") { _ = try JSONValue(parsing: line.utf8) }
        processes.next(program: Self.git)
        let lines = try await agent.auditLines().filter { $0["session"]?.string == "home" }
        #expect(!lines.isEmpty && lines.allSatisfy { $0["source"]?.string == "work" }, "\(lines)")
        let insider = try agent.peer()
        try insider.send(SocketPeer.request("POST", "/v1/sessions/work/logout", body: "{}"))
        for _ in 0..<2 { await agent.serving.nextRevocation().answer(.revoked) }
        let event = try await follower.chunk()
        #expect(event.contains("login_required") && !event.contains("work"), "\(event)")
        await agent.stop()
    }

    @Test func `a step-up at a hidden source is not told`() async throws {
        let processes = ScriptedProcesses()
        let agent = try await Self.agent(processes)
        try await agent.logIn()
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("home-1")))
        #expect(
            try await Polling.until {
                try await agent.peer().exchange("GET", "/v1/sessions/home/token").body.contains("home-1")
            }
        )
        let challenge = #"Bearer error=\"insufficient_scope\", scope=\"mail\""#
        let body = #"{"token":"home-1","status":403,"www_authenticate":"\#(challenge)"}"#
        for (program, action) in [(Self.git, "step_up"), (Self.curl, "none")] {
            processes.next(program: program)
            let answer = try await agent.peer().exchange("POST", "/v1/sessions/home/report", body: body)
            #expect(try json(answer)["action"]?.string == action)
            #expect(answer.body.contains("work") == (action == "step_up"), "\(answer.body)")
        }
        await agent.stop()
    }

    @Test(arguments: [
        ("source session work is not logged in", true),
        ("source session work has no token now", true), ("there is no session work", true),
        ("source session work-2 not found", false), ("the server is at work", false),
    ])
    func `only the session of that name is meant`(text: String, isMeant: Bool) {
        let hidden = HiddenSources(names: [AgentHarness.work])
        #expect((hidden.message(text) == HiddenSources.message) == isMeant)
        #expect(hidden.remedy(.set("client_id"), for: text) == (isMeant ? nil : .set("client_id")))
        #expect(hidden.remedy(.run("tokenctl login work"), for: "no login") == nil)
        #expect(HiddenSources(names: []).message(text) == text)
    }
}
