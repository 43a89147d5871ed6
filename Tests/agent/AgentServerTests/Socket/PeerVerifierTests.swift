// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// Checks that a peer is still the program that connected, and that it sends its own requests.
@Suite(.timeLimit(.minutes(10)))
struct PeerVerifierTests {
    @Test(.holds("5")) func `a peer that has become another program since it came is nobody`() async throws {
        let processes = ScriptedProcesses()
        processes.next(program: "/usr/bin/evil", image: "1:1")
        let agent = try await PeerRulesTests.agent(processes)
        let peer = try agent.peer()
        #expect(try await Polling.until { processes.count == 1 })
        processes.next(program: PeerRulesTests.git, image: "1:2")
        #expect(try await peer.exchange("GET", "/v1/sessions/of-git").status == 404)
        // An allowed program must not pass its connection on either.
        let honest = try agent.peer()
        #expect(try await honest.exchange("GET", "/v1/sessions/of-git").status == 200)
        processes.next(program: PeerRulesTests.git, image: "1:3")
        #expect(try await honest.exchange("GET", "/v1/sessions/of-git").status == 404)
        await agent.stop()
    }

    @Test(.holds("5"), arguments: [true, false])
    func `what a peer has waited for goes only to the program that asked`(isSame: Bool) async throws {
        let processes = ScriptedProcesses()
        processes.next(program: PeerRulesTests.git, image: "1:1")
        let agent = try await PeerRulesTests.agent(processes)
        let name = try #require(SessionName("of-git"))
        try await agent.logIn(name)
        agent.time.advance(by: .seconds(20))
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/of-git/token?min_valid=3590"))
        let refresh = await agent.serving.nextRefresh()
        if !isSame { processes.next(program: "/usr/bin/evil", image: "1:2") }
        refresh.answer(.granted(try agent.granted("token-2", lifetime: .seconds(7_200))))
        let answer = try await peer.answer()
        #expect(answer.status == (isSame ? 200 : 404))
        #expect(answer.body.contains("token-2") == isSame)
        // The check before a response does not count for the next request.
        processes.next(program: "/usr/bin/evil", image: "1:2")
        #expect(try await peer.exchange("GET", "/v1/sessions/of-git").status == 404)
        processes.next(program: PeerRulesTests.git, image: "1:1")
        let decisions = try await agent.auditLines().filter { $0["kind"] != nil }.map {
            $0["decision"]?.string
        }
        #expect(decisions == [isSame ? "served" : "hidden"])
        await agent.stop()
    }

    @Test(.holds("5"), arguments: ["connector", "child", "both", "stranger"])
    func `a connection is nobody's once another process has written to it`(writer: String) async throws {
        let processes = ScriptedProcesses()
        processes.next(program: PeerRulesTests.git)
        let agent = try await PeerRulesTests.agent(processes)
        let script = """
            import array, os, socket, sys
            path, writer = sys.argv[1:]
            request = b"GET /v1/sessions/of-git HTTP/1.1\\r\\nHost: tokenagent\\r\\nConnection: close\\r\\n\\r\\n"
            s = socket.socket(socket.AF_UNIX); s.connect(path)
            def child(body):
                if os.fork() == 0:
                    body(); os._exit(0)
                os.wait()
            if writer == "connector": s.sendall(request)
            if writer == "child": child(lambda: s.sendall(request))
            if writer == "both":
                s.sendall(request[:20]); child(lambda: s.sendall(request[20:]))
            if writer == "stranger":
                a, b = socket.socketpair()
                if os.fork() == 0:
                    n, anc, _, _ = b.recvmsg(1, 64)
                    t = socket.socket(fileno=array.array("i", anc[0][2])[0])
                    t.sendall(request); os._exit(0)
                a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
                os.wait()
            print(s.makefile("rb").readline().split()[1].decode(), flush=True)
            """
        let program = try Program(
            ["python3", "-c", script, agent.path, writer],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        )
        #expect(try await program.finish().status == 0)
        let answer = program.standardOutput.split(separator: "\n").first
        #expect(answer == (writer == "connector" ? "200" : "404"))
        await agent.stop()
    }

    @Test func `who writes is watched on connections that were open before there were rules`() async throws {
        let processes = ScriptedProcesses()
        processes.next(program: PeerRulesTests.git)
        let agent = try await AgentHarness(processes: processes)
        let script = """
            import os, socket, sys, time
            s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
            f = s.makefile("rb")
            def status():
                line = f.readline().split()[1].decode()
                length = 0
                while (field := f.readline()) != b"\\r\\n":
                    if field.lower().startswith(b"content-length:"): length = int(field.split(b":")[1])
                f.read(length)
                return line
            def ask(): s.sendall(b"GET /v1/sessions/work HTTP/1.1\\r\\nHost: tokenagent\\r\\n\\r\\n")
            ask(); print(status(), flush=True)
            while not os.path.exists(sys.argv[2]): time.sleep(0.01)
            ask(); print(status(), flush=True)
            if os.fork() == 0:
                ask(); os._exit(0)
            os.wait()
            print(status(), flush=True)
            """
        let program = try Program(
            ["python3", "-c", script, agent.path, agent.directory.path("go")],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        )
        #expect(try await Polling.until { program.standardOutput == "200\n" })
        agent.configuration.change {
            $0.sessions[AgentHarness.work]?.rules = [AllowRule(executable: PeerRulesTests.git)]
        }
        _ = try await agent.peer().exchange("POST", "/v1/reload")
        try agent.directory.write("", to: "go")
        #expect(try await program.finish().status == 0)
        #expect(program.standardOutput == "200\n200\n404\n")
        await agent.stop()
    }

    @Test(.holds("5")) func `a peer that has ended is nobody, whoever holds its connection now`() async throws
    {
        let processes = ScriptedProcesses()
        processes.next(program: PeerRulesTests.git)
        let agent = try await PeerRulesTests.agent(processes)
        // The process that connects is gone by the time its child asks.
        let script = """
            import os, socket, sys
            for _ in range(100):
                r, w = os.pipe()
                s = socket.socket(socket.AF_UNIX)
                if os.fork() == 0:
                    s.connect(sys.argv[1])
                    if os.fork() != 0: os._exit(0)
                    os.close(w); os.read(r, 1)
                    s.sendall(b"GET /v1/sessions/of-git/token HTTP/1.1\\r\\nHost: tokenagent\\r\\nConnection: close\\r\\n\\r\\n")
                    print(s.makefile("rb").readline().split()[1].decode(), flush=True)
                    os._exit(0)
                os.wait(); os.close(w); os.close(r); s.close()
            """
        let program = try Program(
            ["python3", "-c", script, agent.path],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        )
        #expect(try await program.finish().status == 0)
        #expect(try await Polling.until { program.standardOutput.split(separator: "\n").count == 100 })
        #expect(Set(program.standardOutput.split(separator: "\n")) == ["404"])
        await agent.stop()
    }
}
