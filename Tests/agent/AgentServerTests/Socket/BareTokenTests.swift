// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Sockets that send the bare token of their session to every program that connects.
@Suite(.timeLimit(.minutes(10)))
struct BareTokenTests {
    private func agent(
        users: Set<uid_t> = [],
        mode: mode_t = 0o600,
        _ change: @escaping (inout AgentConfiguration) -> Void = { _ in }
    ) async throws -> AgentHarness {
        try await AgentHarness.configured { configuration, directory in
            change(&configuration)
            configuration.sockets = [
                RestrictedSocket(
                    path: directory.path("shared/token.sock"),
                    sessions: [AgentHarness.work],
                    mode: mode,
                    users: users,
                    writesToken: true
                )
            ]
        }
    }

    private func path(_ agent: AgentHarness) -> String { agent.directory.path("shared/token.sock") }

    /// The body of a request that unlocks the agent.
    private let right = #"{"passphrase":"open sesame"}"#

    /// Connects as systemd does, sends `saying`, and reads to the end.
    ///
    /// - Returns: the text that was read, or `nil` if reading failed.
    private func read(_ agent: AgentHarness, saying: String = "") async throws -> String? {
        let peer = try SocketPeer(path(agent))
        if !saying.isEmpty { try peer.send(saying) }
        peer.endSending()
        return try await peer.wholeRest()
    }

    @Test(.holds("252")) func `each program that connects is sent the token and the end`() async throws {
        let agent = try await agent()
        try await agent.logIn()
        for _ in 0..<3 { #expect(try await read(agent) == "token-1") }
        let line = try #require(try await agent.auditLines().last)
        #expect(line["socket"]?.string == path(agent))
        #expect(line["decision"]?.string == "served")
        await agent.stop()
    }

    @Test(.holds("252")) func `what a program says there does not matter`() async throws {
        let agent = try await agent()
        try await agent.logIn()
        #expect(try await read(agent, saying: "GET /v1 HTTP/1.1\r\nHost: x\r\n\r\n") == "token-1")
        #expect(
            try await read(agent, saying: SocketPeer.request("GET", "/v1/sessions/home/token")) == "token-1"
        )
        await agent.stop()
    }

    @Test(.holds("252")) func `many at once cost one refresh`() async throws {
        let agent = try await agent()
        try await agent.logIn(lifetime: .seconds(100))
        await agent.advance(by: .seconds(99))
        let peers = try (0..<40).map { _ in try SocketPeer(path(agent)) }
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        for peer in peers { #expect(try await peer.wholeRest() == "token-2") }
        #expect(agent.serving.refreshCount == 1)
        await agent.stop()
    }

    @Test func `a refresh that fails once costs those who wait no more than time`() async throws {
        let agent = try await agent()
        try await agent.logIn(lifetime: .seconds(100))
        await agent.advance(by: .seconds(101))
        let peer = try SocketPeer(path(agent))
        await agent.serving.nextRefresh().answer(.failed(RefreshFailure(kind: .busy, message: "503")))
        // The next try is planned from the moment at which the agent has heard of it.
        #expect(try await Polling.until { agent.log.lines.contains { $0.contains("refresh failed") } })
        await agent.advance(by: .seconds(5))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try await peer.wholeRest() == "token-2")
        #expect(agent.serving.refreshCount == 2)
        await agent.stop()
    }

    @Test(.holds("252")) func `without a login reading fails, and the reason is in the log`() async throws {
        let agent = try await agent()
        #expect(try await read(agent) == nil)
        #expect(agent.log.lines.contains { $0.contains("no token for waiting peers") })
        // The socket is there again.
        try await agent.logIn()
        #expect(try await Polling.until { (try? await read(agent)) == "token-1" })
        await agent.stop()
    }

    @Test(.holds("252")) func `a locked agent lets reading fail if nobody unlocks it for a while`()
        async throws
    {
        let agent = try await agent()
        try await agent.logIn()
        #expect(try await agent.peer().exchange("POST", "/v1/lock").status == 200)
        #expect(try await read(agent) == nil)
        #expect(
            agent.log.lines.contains { $0.contains("locked") && $0.contains("no token for waiting peers") }
        )
        await agent.stop()
    }

    @Test(.holds("252")) func `an agent that is unlocked in time gives those who wait the token`()
        async throws
    {
        let agent = try await agent()
        try await agent.logIn()
        #expect(try await agent.peer().exchange("POST", "/v1/lock").status == 200)
        let peer = try SocketPeer(path(agent))
        #expect(try await Polling.until { await agent.runtime.agent.waitingPreparations == 1 })
        #expect(try await agent.peer().exchange("POST", "/v1/unlock", body: right).status == 200)
        #expect(try await peer.wholeRest() == "token-1")
        await agent.stop()
    }

    @Test func `who waits for a refresh waits on while the agent is locked`() async throws {
        let agent = try await agent()
        try await agent.logIn(lifetime: .seconds(100))
        await agent.advance(by: .seconds(99))
        let peer = try SocketPeer(path(agent))
        let refresh = await agent.serving.nextRefresh()
        async let locked = agent.peer().exchange("POST", "/v1/lock").status
        #expect(try await Polling.until { await agent.runtime.agent.isLocked })
        refresh.answer(.granted(try agent.granted("token-2")))
        #expect(try await locked == 200)
        #expect(try await agent.peer().exchange("POST", "/v1/unlock", body: right).status == 200)
        #expect(try await peer.wholeRest() == "token-2")
        await agent.stop()
    }

    @Test(.holds("252")) func `an agent that stops lets reading fail`() async throws {
        let agent = try await agent()
        try await agent.logIn(lifetime: .seconds(100))
        await agent.advance(by: .seconds(99))
        let peer = try SocketPeer(path(agent))
        let refresh = await agent.serving.nextRefresh()
        async let stopped: Void = agent.stop()
        #expect(try await peer.wholeRest() == nil)
        refresh.answer(.granted(try agent.granted("token-2")))
        await stopped
    }

    /// Runs a program as `user` that connects and reads for at most a second, and returns its output.
    private func look(_ agent: AgentHarness, as user: [String] = []) async throws -> String {
        let reader = """
            import socket, sys
            s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(1)
            try: print("read", s.recv(10))
            except TimeoutError: print("waits")
            """
        let result = try await Program.run(
            user + ["python3", "-c", reader, path(agent)],
            environment: ["PATH": TestEnvironment.searchPath]
        )
        return result.line
    }

    @Test(.holds("252"), .enabled(if: geteuid() == 0, "only root can become another user"))
    func `a user that is not named is left waiting, not given an end`() async throws {
        let agent = try await agent(users: [65_533], mode: 0o666)
        try await agent.logIn()
        for place in ["", "shared"] { chmod(agent.directory.path(place), 0o755) }
        let nobody = [
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "PATH=/usr/bin:/bin",
        ]
        #expect(try await look(agent, as: nobody) == "waits")
        #expect(try await look(agent) == "read b'token-1'")
        await agent.stop()
    }

    @Test(.holds("252")) func `a program that the session's rules keep away is left waiting`() async throws {
        let agent = try await agent()
        try await agent.logIn()
        #expect(try await look(agent) == "read b'token-1'")
        agent.configuration.change {
            $0.sessions[AgentHarness.work]?.rules = [AllowRule(executable: "/usr/bin/other")]
        }
        _ = try await agent.peer().exchange("POST", "/v1/reload")
        #expect(try await look(agent) == "waits")
        await agent.stop()
    }

    @Test(.holds("252")) func `another answer in the configuration opens the socket anew`() async throws {
        let agent = try await agent()
        try await agent.logIn()
        agent.configuration.change { $0.sockets[0].writesToken = false }
        _ = try await agent.peer().exchange("POST", "/v1/reload")
        let peer = try SocketPeer(path(agent))
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 200)
        agent.configuration.change { $0.sockets[0].writesToken = true }
        _ = try await agent.peer().exchange("POST", "/v1/reload")
        #expect(try await read(agent) == "token-1")
        await agent.stop()
    }
}
