// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// The agent notices by itself that its configuration has changed, and says what a reload changes.
@Suite(.timeLimit(.minutes(10)))
struct ConfigurationWatchTests {
    private static func added() throws -> SessionName { try #require(SessionName("added")) }

    private func add(to agent: AgentHarness) throws {
        let name = try Self.added()
        agent.configuration.change { $0.sessions[name] = $0.sessions[AgentHarness.work] }
    }

    private func json(_ answer: SocketPeer.Answer) throws -> JSONObject {
        try #require(try JSONValue(parsing: answer.body.utf8).object)
    }

    @Test(arguments: ["/v1/sessions/added", "/v1/sessions/added/token", "/v1/audit?session=added"])
    func `a session is looked for in the file before it is said not to exist`(address: String) async throws {
        let agent = try await AgentHarness()
        try add(to: agent)
        #expect(try await agent.peer().exchange("GET", address).status != 404)
        #expect(agent.log.shown.contains("notice configuration reloaded added=session.added"))
        await agent.stop()
    }

    @Test func `a login finds the session that has just been written`() async throws {
        let agent = try await AgentHarness()
        try add(to: agent)
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/added/login", body: "{}"))
        let call = await agent.serving.nextLogIn()
        #expect(call.session == (try Self.added()))
        call.answer(.cancelled)
        await agent.stop()
    }

    @Test func `a login of a known session takes over what has changed`() async throws {
        let agent = try await AgentHarness()
        agent.configuration.change { $0.sessions[AgentHarness.work]?.hosts = ["git.example"] }
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: "{}"))
        await agent.serving.nextLogIn().answer(.cancelled)
        let status = try json(await agent.peer().exchange("GET", "/v1/sessions/work"))
        #expect(status["hosts"]?.array?.compactMap(\.string) == ["git.example"])
        await agent.stop()
    }

    @Test func `whoever asks, the disk is looked at once a second`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        for number in 0..<50 {
            #expect(try await peer.exchange("GET", "/v1/sessions/none\(number)/token").status == 404)
        }
        #expect(agent.configuration.looks == 1)
        agent.time.advance(by: .seconds(1))
        _ = try await peer.exchange("GET", "/v1/sessions/none/token")
        #expect(agent.configuration.looks == 2)
        #expect(agent.configuration.loads == 0)
        await agent.stop()
    }

    @Test(arguments: ["hidden", "unknown"])
    func `a hidden name is looked for as an unknown one is`(name: String) async throws {
        let hidden = try #require(SessionName("hidden"))
        let agent = try await AgentHarness.configured(processes: ScriptedProcesses()) { configuration, _ in
            configuration.sessions[hidden] = configuration.sessions[AgentHarness.work]
            configuration.sessions[hidden]?.rules = [AllowRule(executable: "/usr/bin/none")]
        }
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/\(name)/token").status == 404)
        #expect(agent.configuration.looks == 1)
        await agent.stop()
    }

    @Test func `a restricted socket makes the agent look at nothing`() async throws {
        let agent = try await AgentHarness.configured { configuration, directory in
            let path = directory.path("shared/work.sock")
            configuration.sockets = [
                RestrictedSocket(
                    path: path,
                    sessions: [AgentHarness.work],
                    mode: 0o600,
                    group: nil,
                    users: []
                )
            ]
        }
        try add(to: agent)
        let peer = try SocketPeer(agent.directory.path("shared/work.sock"))
        #expect(try await peer.exchange("GET", "/v1/sessions/added/token").status == 404)
        #expect(agent.configuration.looks == 0)
        await agent.stop()
    }

    @Test func `a mistake changes nothing and is said there`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        agent.configuration.fail(
            RequestFailure(code: .misconfigured, message: "config.toml:3: session.added.kind: unknown")
        )
        agent.time.advance(by: .seconds(1))
        let peer = try agent.peer()
        let answer = try await peer.exchange("GET", "/v1/sessions/added/token")
        #expect(answer.status == 404)
        #expect(answer.body.contains("config.toml:3") && answer.body.contains("tokenctl config check"))
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        // Not read again and again, but not forgotten either.
        agent.time.advance(by: .seconds(1))
        #expect(try await peer.exchange("GET", "/v1/sessions/added/token").body.contains("config.toml:3"))
        #expect(agent.configuration.loads == 1)
        let login = try agent.peer()
        try login.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: "{}"))
        _ = await agent.serving.nextLogIn()
        _ = try await login.streamHead()
        let notice = try await login.chunk()
        #expect(notice.contains(#""event":"notice""#) && notice.contains("config.toml:3"))
        await agent.stop()
    }

    @Test func `with rules in force a mistake is told without its words`() async throws {
        let agent = try await AgentHarness.configured(processes: ScriptedProcesses()) { configuration, _ in
            configuration.sessions[AgentHarness.home]?.rules = [AllowRule(executable: "/usr/bin/none")]
        }
        agent.configuration.fail(
            RequestFailure(code: .misconfigured, message: "config.toml:3: session.home.kind: unknown")
        )
        let answer = try await agent.peer().exchange("GET", "/v1/sessions/added/token")
        #expect(answer.status == 404 && answer.body.contains("has an error"))
        #expect(!answer.body.contains("session.home"))
        await agent.stop()
    }

    @Test func `a reload says what it has changed, and a check what it would`() async throws {
        let agent = try await AgentHarness()
        try add(to: agent)
        let peer = try agent.peer()
        let check = try json(await peer.exchange("POST", "/v1/reload", body: #"{"check":true}"#))
        #expect(check["sessions"]?.integer == 2)
        #expect(check["added"]?.array?.compactMap(\.string) == ["session.added"])
        #expect(check["file"]?.string == "config.toml")
        #expect(agent.configuration.loads == 0)
        let reload = try json(await peer.exchange("POST", "/v1/reload"))
        #expect(reload["sessions"]?.integer == 3)
        #expect(reload["added"]?.array?.compactMap(\.string) == ["session.added"])
        #expect(reload["removed"]?.array?.isEmpty == true && reload["restart"]?.array?.isEmpty == true)
        let again = try json(await peer.exchange("POST", "/v1/reload"))
        #expect(again["added"]?.array?.isEmpty == true)
        #expect(try await peer.exchange("POST", "/v1/reload", body: #"{"chekc":true}"#).status == 400)
        await agent.stop()
    }

    @Test func `a socket that cannot be opened is said to need a restart`() async throws {
        let agent = try await AgentHarness()
        let path = agent.directory.path("file/work.sock")
        try agent.directory.write("", to: "file")
        agent.configuration.change { configuration in
            configuration.sockets = [
                RestrictedSocket(
                    path: path,
                    sessions: [AgentHarness.work],
                    mode: 0o600,
                    group: nil,
                    users: []
                )
            ]
        }
        let answer = try json(await agent.peer().exchange("POST", "/v1/reload"))
        let restart = try #require(answer["restart"]?.array?.first?.object)
        #expect(restart["key"]?.string == "socket")
        #expect(restart["reason"]?.string?.contains(path) == true)
        #expect(agent.log.shown.contains { $0.hasPrefix("warning change requires a restart of the agent") })
        await agent.stop()
    }

    @Test func `a reload is a line of the audit log, a failed one too`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        _ = try await peer.exchange("POST", "/v1/reload")
        agent.configuration.fail(
            RequestFailure(code: .misconfigured, message: "config.toml:3: kind: unknown")
        )
        _ = try await peer.exchange("POST", "/v1/reload")
        let lines = try await agent.wholeAudit().filter { $0["action"]?.string == "reload" }
        #expect(lines.map { $0["decision"]?.string } == ["done", "failed"])
        #expect(lines.allSatisfy { $0["pid"] != nil })
        await agent.stop()
    }
}
