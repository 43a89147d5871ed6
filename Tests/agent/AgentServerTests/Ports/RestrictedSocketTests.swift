// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Sockets that give out tokens of some sessions and do nothing else.
@Suite(.timeLimit(.minutes(10)))
struct RestrictedSocketTests {
    /// An agent with a second socket for the session `work`.
    static func agent(
        users: Set<uid_t> = [],
        mode: mode_t = 0o600,
        group: gid_t? = nil,
        scopes: Set<ByteText> = [],
        audiences: Set<ByteText> = [],
        _ change: (inout AgentConfiguration) -> Void = { _ in }
    ) async throws -> AgentHarness {
        let agent = try await AgentHarness.configured { configuration, directory in
            change(&configuration)
            configuration.sockets = [
                RestrictedSocket(
                    path: directory.path("shared/work.sock"),
                    sessions: [AgentHarness.work],
                    scopes: scopes,
                    audiences: audiences,
                    mode: mode,
                    group: group,
                    users: users
                )
            ]
        }
        try await agent.logIn(AgentHarness.work)
        try await agent.logIn(AgentHarness.home, token: "home-1")
        return agent
    }

    static func path(_ agent: AgentHarness) -> String { agent.directory.path("shared/work.sock") }

    @Test(.holds("21")) func `it gives out tokens of its sessions`() async throws {
        let agent = try await Self.agent()
        let peer = try SocketPeer(Self.path(agent))
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        let text = try await peer.exchange("GET", "/v1/sessions/work/token", fields: "Accept: text/plain\r\n")
        #expect(text.body == "token-1\n")
        let about = try JSONValue(parsing: try await peer.exchange("GET", "/v1").body.utf8).object
        #expect(about?.members.map(\.name) == ["version", "api", "uptime", "locked", "sessions"])
        #expect(about?["sessions"]?.integer == 1)
        let line = try #require(try await agent.auditLines().last)
        #expect(line["socket"]?.string == Self.path(agent))
        await agent.stop()
    }

    @Test(.holds("21")) func `it says what its sessions are for, and nothing of the login`() async throws {
        let agent = try await Self.agent {
            $0.sessions[AgentHarness.work]?.hosts = ["git.example.com"]
            $0.sessions[AgentHarness.work]?.resource = "https://git.example.com/mcp"
            $0.sessions[AgentHarness.work]?.hasHostsOfResource = true
        }
        let peer = try SocketPeer(Self.path(agent))
        let members = [
            "session", "state", "hosts", "resource", "hosts_of_resource", "expires_at", "expires_in",
        ]
        let list = try JSONValue(parsing: try await peer.exchange("GET", "/v1/sessions").body.utf8)
        let entries = try #require(list.object?["sessions"]?.array)
        #expect(entries.count == 1)
        let one = try JSONValue(parsing: try await peer.exchange("GET", "/v1/sessions/work").body.utf8)
        for entry in entries + [one] {
            #expect(entry.object?.members.map(\.name) == members)
            #expect(entry.object?["session"]?.string == "work")
            #expect(entry.object?["expires_in"]?.integer == 3_600)
        }
        #expect(try await peer.exchange("GET", "/v1/sessions/home").status == 404)
        await agent.stop()
    }

    @Test(.holds("21")) func `a session it is not for is unknown there`() async throws {
        let agent = try await Self.agent()
        let peer = try SocketPeer(Self.path(agent))
        let other = try await peer.exchange("GET", "/v1/sessions/home/token")
        let unknown = try await peer.exchange("GET", "/v1/sessions/nope/token")
        #expect(other.status == 404)
        #expect(other.body == unknown.body.replacing("nope", with: "home"))
        #expect(try await agent.auditLines().map { $0["decision"]?.string } == ["hidden", "hidden"])
        await agent.stop()
    }

    @Test(
        .holds("21", "191"),
        arguments: [
            ("POST", "/v1/sessions/work/refresh"), ("POST", "/v1/sessions/work/login"),
            ("POST", "/v1/sessions/work/login/1"), ("POST", "/v1/sessions/work/logout"),
            ("POST", "/v1/sessions/work/client-secret"), ("GET", "/v1/events"),
            ("GET", "/v1/metrics"), ("GET", "/v1/doctor"), ("POST", "/v1/examine"), ("GET", "/v1/audit"),
            ("POST", "/v1/lock"), ("POST", "/v1/restrict"),
            ("POST", "/v1/unlock"), ("POST", "/v1/reload"), ("POST", "/v1/shutdown"), ("GET", "/v1/vault"),
            ("POST", "/v1/vault/init"), ("POST", "/v1/vault/slots"), ("DELETE", "/v1/vault/slots/0"),
            ("POST", "/v1/vault/passwd"), ("POST", "/v1/vault/rekey"), ("GET", "/v1/nonsense"), ("GET", "/"),
        ]
    )
    func `everything else is denied`(method: String, target: String) async throws {
        let agent = try await Self.agent()
        let body = method == "POST" ? "{}" : nil
        let answer = try await SocketPeer(Self.path(agent)).exchange(method, target, body: body)
        #expect(answer.status == 403)
        #expect(answer.body.contains("\"denied\""))
        await agent.stop()
    }

    @Test func `its file is as configured and gone when the agent stops`() async throws {
        let agent = try await Self.agent(users: [12], mode: 0o660, group: getgid())
        let path = Self.path(agent)
        #expect(File.mode(path) == 0o660)
        #expect(File.mode(agent.directory.path("shared")) == 0o711)
        #expect(File.mode(agent.path) == 0o600)
        await agent.stop()
        #expect(!File.exists(path))
    }

    @Test(
        .holds("21"),
        .enabled(if: geteuid() == 0, "only root can become another user"),
        arguments: [false, true]
    )
    func `another user is let in only where it is named`(isNamed: Bool) async throws {
        let agent = try await Self.agent(users: isNamed ? [65_534] : [65_533], mode: 0o666)
        chmod(agent.directory.path, 0o755)
        chmod(agent.directory.path("shared"), 0o755)
        chmod(agent.directory.path("run"), 0o755)
        chmod(agent.path, 0o666)
        func ask(_ path: String) async throws -> ProgramResult {
            let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            let curl = ["curl", "-s", "--unix-socket", path, "http://tokenagent/v1/sessions/work/token"]
            return try await Program.run(nobody + curl, environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"])
        }
        let shared = try await ask(Self.path(agent))
        #expect(shared.standardOutput.contains("token-1") == isNamed)
        #expect((shared.status == 0) == isNamed)
        // The agent's own socket is only for its own user, independent of the users of other sockets.
        let own = try await ask(agent.path)
        #expect(own.status != 0 && own.standardOutput.isEmpty)
        if isNamed { #expect(try await agent.auditLines().last?["uid"]?.integer == 65_534) }
        await agent.stop()
    }

    @Test(.holds("21")) func `a reload opens, changes and closes them`() async throws {
        let agent = try await Self.agent()
        let (first, second) = (Self.path(agent), agent.directory.path("shared/home.sock"))
        let peer = try SocketPeer(first)
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 200)
        agent.configuration.change { configuration in
            configuration.sockets[0].sessions = [AgentHarness.home]
            configuration.sockets.append(RestrictedSocket(path: second, sessions: [AgentHarness.home]))
        }
        _ = try await agent.peer().exchange("POST", "/v1/reload")
        // What is open follows the new configuration too.
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 404)
        #expect(try await peer.exchange("GET", "/v1/sessions/home/token").status == 200)
        #expect(try await SocketPeer(second).exchange("GET", "/v1/sessions/home/token").status == 200)
        agent.configuration.change { $0.sockets.removeFirst() }
        _ = try await agent.peer().exchange("POST", "/v1/reload")
        #expect(!File.exists(first))
        #expect(try await peer.rest() == "")
        #expect(try await SocketPeer(second).exchange("GET", "/v1").status == 200)
        await agent.stop()
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"), arguments: [false, true])
    func `a user that is no longer named loses the connections it has`(isNamed: Bool) async throws {
        let agent = try await Self.agent(users: [65_534], mode: 0o666)
        chmod(agent.directory.path, 0o755)
        chmod(agent.directory.path("shared"), 0o755)
        let script = """
            import os, socket, sys, time
            path, go = sys.argv[1:]
            os.setgid(65534); os.setuid(65534)
            s = socket.socket(socket.AF_UNIX); s.connect(path)
            def ask():
                try:
                    s.sendall(b"GET /v1/sessions/work/token HTTP/1.1\\r\\nHost: tokenagent\\r\\n\\r\\n")
                    return s.recv(65536).split(b" ")[1].decode()
                except (OSError, IndexError): return "closed"
            print(ask(), flush=True)
            while not os.path.exists(go): time.sleep(0.01)
            print(ask(), flush=True)
            """
        let program = try Program(
            ["python3", "-c", script, Self.path(agent), agent.directory.path("go")],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        )
        #expect(try await Polling.until { program.standardOutput == "200\n" })
        let own = try SocketPeer(Self.path(agent))
        #expect(try await own.exchange("GET", "/v1").status == 200)
        agent.configuration.change { $0.sockets[0].users = isNamed ? [65_534, 12] : [12] }
        _ = try await agent.peer().exchange("POST", "/v1/reload")
        try agent.directory.write("", to: "go")
        #expect(try await program.finish().status == 0)
        #expect(program.standardOutput == (isNamed ? "200\n200\n" : "200\nclosed\n"))
        // Our own user goes on.
        #expect(try await own.exchange("GET", "/v1").status == 200)
        await agent.stop()
    }

    @Test func `a file that was removed is made again, with its mode`() async throws {
        let agent = try await Self.agent(users: [12], mode: 0o606)
        unlink(Self.path(agent))
        await agent.runtime.housekeep()
        #expect(try await Polling.until { (try? SocketPeer(Self.path(agent))) != nil })
        #expect(File.mode(Self.path(agent)) == 0o606)
        #expect(try await SocketPeer(Self.path(agent)).exchange("GET", "/v1").status == 200)
        await agent.stop()
    }

    @Test func `a socket that cannot be opened keeps nobody else waiting and is tried again`() async throws {
        let agent = try await AgentHarness.configured { configuration, directory in
            _ = try? directory.makeDirectory("open")
            chmod(directory.path("open"), 0o777)
            configuration.sockets = [
                RestrictedSocket(path: directory.path("open/work.sock"), sessions: [AgentHarness.work])
            ]
        }
        #expect(try await agent.peer().exchange("GET", "/v1").status == 200)
        #expect(!File.exists(agent.directory.path("open/work.sock")))
        func isNamed() async throws -> Bool {
            let doctor = try await agent.peer().exchange("GET", "/v1/doctor").body
            return doctor.contains("open/work.sock: ") && doctor.contains("cannot open ")
        }
        #expect(try await isNamed())
        chmod(agent.directory.path("open"), 0o755)
        await agent.runtime.housekeep()
        #expect(try await Polling.until { (try? SocketPeer(agent.directory.path("open/work.sock"))) != nil })
        #expect(try await !isNamed())
        await agent.stop()
    }

    @Test func `a locked agent gives nothing there either`() async throws {
        let agent = try await Self.agent()
        await agent.runtime.agent.lock()
        let peer = try SocketPeer(Self.path(agent))
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 423)
        #expect(try await peer.exchange("GET", "/v1/sessions/home/token").status == 404)
        await agent.stop()
    }
}
