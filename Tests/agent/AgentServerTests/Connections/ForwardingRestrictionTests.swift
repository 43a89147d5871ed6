// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Connections that their peers have limited before they let another host use them.
@Suite(.timeLimit(.minutes(10)))
struct ForwardingTests {
    private static let body = #"{"sessions":["work"],"host":"build.example"}"#

    private func agent(
        _ change: @escaping (inout AgentConfiguration) -> Void = { _ in }
    ) async throws -> AgentHarness {
        let agent = try await AgentHarness.configured { configuration, _ in change(&configuration) }
        try await agent.logIn()
        try await agent.logIn(AgentHarness.home, token: "home-1")
        return agent
    }

    /// A peer that has limited its connection to the session `work`.
    private func peer(of agent: AgentHarness) async throws -> SocketPeer {
        let peer = try agent.peer()
        let answer = try await peer.exchange("POST", "/v1/restrict", body: Self.body)
        #expect(answer.status == 200)
        #expect(answer.body == Self.body + "\n")
        return peer
    }

    @Test(.holds("250")) func `from then on it is like a connection at a socket for these sessions`()
        async throws
    {
        let agent = try await agent { $0.sessions[AgentHarness.work]?.hosts = ["git.example.com"] }
        let peer = try await peer(of: agent)
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        let list = try JSONValue(parsing: try await peer.exchange("GET", "/v1/sessions").body.utf8)
        let entries = try #require(list.object?["sessions"]?.array)
        let members = ["session", "state", "hosts", "expires_at", "expires_in"]
        #expect(entries.map { $0.object?.members.map(\.name) } == [members])
        let about = try JSONValue(parsing: try await peer.exchange("GET", "/v1").body.utf8).object
        #expect(about?.members.map(\.name) == ["version", "api", "uptime", "locked", "sessions"])
        #expect(about?["sessions"]?.integer == 1)
        for target in ["/v1/sessions/home", "/v1/sessions/home/token", "/v1/sessions/nope/token"] {
            #expect(try await peer.exchange("GET", target).status == 404)
        }
        for query in ["scope=mail", "audience=https://api.example"] {
            let answer = try await peer.exchange("GET", "/v1/sessions/work/token?\(query)")
            let remedy = "over ssh -R to a [[socket]] that lists "
            #expect(answer.status == 403 && answer.body.contains(remedy), "\(answer.body)")
        }
        await agent.stop()
    }

    @Test(.holds("250"), arguments: Endpoint.allCases.filter { !$0.traits.worksAtRestrictedSocket })
    func `nothing undoes it, and everything else is denied`(endpoint: Endpoint) async throws {
        let agent = try await agent()
        let peer = try await peer(of: agent)
        let path = "/v1" + endpoint.traits.path.replacing("NAME", with: "work").replacing("ID", with: "1")
        let wide = #"{"sessions":["work","home"],"host":"x"}"#
        let body = endpoint.traits.method == .get ? nil : wide
        let method = endpoint.traits.method.rawValue
        let target = path.replacing("/N", with: "/0")
        #expect(try await peer.exchange(method, target, body: body).status == 403)
        #expect(try await peer.exchange("GET", "/v1/sessions/home/token").status == 404)
        await agent.stop()
    }

    @Test(.holds("250")) func `other connections of the same process are not limited by it`() async throws {
        let agent = try await agent()
        _ = try await peer(of: agent)
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/home/token").status == 200)
        await agent.stop()
    }

    @Test(.holds("250")) func `a request that follows at once is limited already`() async throws {
        let agent = try await agent()
        let peer = try agent.peer()
        let restrict = SocketPeer.request("POST", "/v1/restrict", body: Self.body)
        try peer.send(restrict + SocketPeer.request("GET", "/v1/sessions/home/token"))
        #expect(try await peer.answer().status == 200)
        #expect(try await peer.answer().status == 404)
        await agent.stop()
    }

    @Test(.holds("250")) func `the audit log names the host, and not for what came before`() async throws {
        let agent = try await agent()
        let peer = try agent.peer()
        _ = try await peer.exchange("GET", "/v1/sessions/work/token")
        _ = try await peer.exchange("POST", "/v1/restrict", body: Self.body)
        _ = try await peer.exchange("GET", "/v1/sessions/work/token")
        _ = try await peer.exchange("GET", "/v1/sessions/home/token")
        let lines = try await agent.auditLines().suffix(3)
        #expect(lines.map { $0["host"]?.string } == [nil, "build.example", "build.example"])
        #expect(lines.map { $0["decision"]?.string } == ["served", "served", "hidden"])
        #expect(lines.allSatisfy { $0["socket"] == nil })
        await agent.stop()
    }

    @Test(.holds("250")) func `reports for one host have a session refreshed once a minute, and end nothing`()
        async throws
    {
        let agent = try await agent { $0.sessions[AgentHarness.work]?.endCodes = ["token_revoked"] }
        let report = #"{"token":"token-1","status":401,"body":"{\"error\":\"token_revoked\"}"}"#
        let first = try await peer(of: agent)
        try first.send(SocketPeer.request("POST", "/v1/sessions/work/report", body: report))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try await first.answer().body.contains("token-2"))
        let again = report.replacing("token-1", with: "token-2")
        for _ in 0..<3 {
            let answer = try await peer(of: agent).exchange(
                "POST",
                "/v1/sessions/work/report",
                body: again
            )
            #expect(answer.body.contains("\"none\""), "\(answer.body)")
        }
        #expect(agent.serving.refreshCount == 1)
        #expect(try await first.exchange("GET", "/v1/sessions/work/token").status == 200)
        await agent.stop()
    }

    @Test(arguments: [
        "{}", #"{"sessions":["work"]}"#, #"{"host":"h"}"#, #"{"sessions":[],"host":"h"}"#,
        #"{"sessions":["work"],"host":""}"#, #"{"sessions":["work"],"host":"a b"}"#,
        #"{"sessions":["work"],"host":"a\nb"}"#, #"{"sessions":["work"],"host":"h","more":1}"#,
        #"{"sessions":"work","host":"h"}"#, #"{"sessions":["w/o"],"host":"h"}"#, "[1]",
        #"{"sessions":["work"],"host":"\#(String(repeating: "h", count: 321))"}"#,
    ])
    func `a bad wish changes nothing`(body: String) async throws {
        let agent = try await agent()
        let peer = try agent.peer()
        let answer = try await peer.exchange("POST", "/v1/restrict", body: body)
        #expect(answer.status == 400 || answer.status == 404 && body.contains("w/o"), "\(answer.body)")
        #expect(try await peer.exchange("GET", "/v1/sessions/home/token").status == 200)
        await agent.stop()
    }

    @Test(.holds("250")) func `a locked agent limits a connection too, and tells it nothing more`()
        async throws
    {
        let agent = try await agent()
        #expect(try await agent.peer().exchange("POST", "/v1/lock").status == 200)
        let peer = try await peer(of: agent)
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 423)
        #expect(try await peer.exchange("GET", "/v1/sessions/home/token").status == 404)
        await agent.stop()
    }
}
