// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing
import Text

/// The bridge's handling of tokens that the server rejects or that the agent denies.
@Suite(.timeLimit(.minutes(3)))
struct RefusedTokenTests {
    @Test(.holds("220")) func `a refused token is reported once, and every request is sent once more`()
        async throws
    {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        try await run.begin()
        #expect(try await Polling.until { server.listeners == 1 })
        server.refuse("at-1")
        for id in 1...20 { run.call(Int64(id), text: "\(id)") }
        for id in 1...20 { #expect(try await run.text(Int64(id)) == "\(id)") }
        let reports = run.agent.requests("/report")
        #expect(reports.count == 1)
        #expect(reports.first?.contains(#""token":"at-1","status":401"#) == true)
        #expect(reports.first?.contains(#"error=\"invalid_token\""#) == true)
        #expect(reports.first?.contains(#""host":"127.0.0.1:"#) == true)
        #expect(server.requests("tools/call").count <= 40)
        #expect(server.requests("tools/call").last?.token == "at-2")
        #expect(try await run.finish())
    }

    @Test(.holds("220")) func `a server that refuses every token costs one report and one retry`()
        async throws
    {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        try await run.begin()
        #expect(try await Polling.until { server.listeners == 1 })
        for number in 1...9 { server.refuse("at-\(number)") }
        run.call(1)
        #expect(try await run.complaint(1).contains("401"))
        #expect(run.agent.requests("/report").count == 1)
        #expect(server.requests("tools/call").count == 2)
        #expect(try await run.finish())
    }

    @Test func `a server that refuses all for ever costs each request one report and one retry`()
        async throws
    {
        let server = try StreamingServer { _, peer in
            peer.answer(401, fields: [#"WWW-Authenticate: Bearer error="invalid_token""#])
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#)
        #expect(try await run.complaint(1).contains("status 401"))
        for id in 2...5 {
            run.call(Int64(id))
            #expect(try await run.complaint(Int64(id)).contains("status 401"))
        }
        #expect(try await run.finish())
        // Each retry uses the token with which the next request begins.
        #expect(
            server.requests.map(\.token) == [1, 2, 2, 3, 3, 4, 4, 5, 5, 6].map { "at-\($0)" }
        )
        #expect(run.agent.requests("/report").count == 5)
        #expect(run.written.count == 5)
    }

    @Test func `where another token would not help, the server's words are told`() async throws {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        try await run.begin()
        run.agent.change { $0.report = .answer(#"{"action":"none"}"#) }
        server.refuse(
            "at-1",
            status: 403,
            challenge: #"Bearer error="x", error_description="not \#u{202E} yours""#
        )
        run.call(1)
        let complaint = try await run.complaint(1)
        #expect(complaint.contains("403") && complaint.contains("yours"))
        #expect(!complaint.unicodeScalars.contains("\u{202E}"))
        #expect(server.requests("tools/call").count == 1)
        #expect(try await run.finish())
    }

    @Test func `a server that wants more of the login has the command for it told`() async throws {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        try await run.begin()
        run.agent.change { $0.report = .answer(#"{"action":"step_up","scope":"admin; $(id)"}"#) }
        server.refuse("at-1", status: 403, challenge: #"Bearer error="insufficient_scope", scope="admin""#)
        run.call(1)
        let error = try #require(try await run.answer(1)["error"]?.object)
        let message = error["message"]?.string ?? ""
        #expect(message.hasSuffix("(run: tokenctl login work --scope 'admin; $(id)')"), "\(message)")
        #expect(error["data"]?.object?["code"]?.string == "login_required")
        #expect(error["data"]?.object?["remedy"]?.string?.hasPrefix("tokenctl login work --scope") == true)
        #expect(try await run.finish())
    }

    @Test func `tools that want different scopes are each answered with the login that brings theirs`()
        async throws
    {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        for scope in ["read", "write"] {
            server.add(scope) { _, peer in
                peer.answer(
                    403,
                    fields: [#"WWW-Authenticate: Bearer error="insufficient_scope", scope="\#(scope)""#]
                )
            }
        }
        run.agent.change {
            $0.reportAnswer = { request in
                let scope = request.contains(#"scope=\"read\""#) ? "read" : "write"
                return .answer(#"{"action":"step_up","scope":"\#(scope)"}"#)
            }
        }
        try await run.begin()
        for id in 1...40 { run.call(Int64(id), id.isMultiple(of: 2) ? "read" : "write") }
        for id in 1...40 {
            let scope = id.isMultiple(of: 2) ? "read" : "write"
            let complaint = try await run.complaint(Int64(id))
            let remedy = "(run: tokenctl login work --scope '\(scope)')"
            #expect(complaint.hasSuffix(remedy), "\(id): \(complaint)")
        }
        #expect(try await run.finish())
    }

    @Test func `a scope that is missed by the token after the refused one is told too`() async throws {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        server.add("write") { _, peer in
            peer.answer(
                403,
                fields: [#"WWW-Authenticate: Bearer error="insufficient_scope", scope="write""#]
            )
        }
        run.agent.change {
            $0.reportAnswer = { request in
                request.contains(#""status":403"#)
                    ? .answer(#"{"action":"step_up","scope":"write"}"#) : nil
            }
        }
        try await run.begin()
        #expect(try await Polling.until { server.listeners == 1 })
        server.refuse("at-1")
        run.call(1, "write")
        let complaint = try await run.complaint(1)
        #expect(complaint.hasSuffix("(run: tokenctl login work --scope 'write')"), "\(complaint)")
        #expect(server.requests("tools/call").map(\.token) == ["at-1", "at-2"])
        #expect(run.agent.requests("/report").count == 2)
        #expect(try await run.finish())
    }

    @Test func `a stream that cannot be gone on with for want of a token ends with the remedy, at once`()
        async throws
    {
        let server = try MCPDouble()
        let calls = AsyncStream.makeStream(of: StreamingServer.Peer.self)
        server.add("long") { _, peer in
            peer.beginStream()
            peer.event("", id: "e-0", retry: 100)
            peer.event(#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"n":1}}"#, id: "e-1")
            calls.continuation.yield(peer)
        }
        let run = try BridgeRun(to: server.address)
        try await run.begin()
        run.call(1, "long")
        _ = try await run.message { $0["method"]?.string == "notifications/progress" }
        run.agent.change {
            let over = #"{"error":{"code":"login_required","message":"it is over","session":"work"}}"#
            $0.token = .answer(over, status: 401)
        }
        let asked = run.agent.requests("/token").count
        for await peer in calls.stream.prefix(1) { peer.leave() }
        #expect(try await run.complaint(1) == "work: it is over (run: tokenctl login work)")
        #expect(run.agent.requests("/token").count == asked + 1)
        #expect(try await run.finish())
    }

    @Test(
        .holds("221"),
        arguments: [
            ("login_required", 401, "run: tokenctl login work"), ("locked", 423, "run: tokenctl unlock"),
            ("temporarily_unavailable", 503, "(retry: in 7s)"), ("denied", 403, "no"),
        ]
    )
    func `why there is no token is told in place of an answer`(
        code: String,
        status: Int,
        words: String
    ) async throws {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        run.agent.change {
            $0.token = .answer(
                #"{"error":{"code":"\#(code)","message":"no","session":"work","retry_after":7}}"#,
                status: status
            )
        }
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#)
        let error = try #require(try await run.answer(1)["error"]?.object)
        #expect(error["message"]?.string?.contains(words) == true, "\(error)")
        #expect(error["data"]?.object?["code"]?.string == code)
        #expect(server.requests.isEmpty)
        // After the login the same client goes on.
        run.agent.change { $0.token = nil }
        try await run.begin()
        run.call(2)
        #expect(try await run.text(2) == "hello")
        #expect(try await run.finish())
    }

    @Test(.holds("221"))
    func `a login that ends in the middle is told, and requests after the next one succeed`()
        async throws
    {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        try await run.begin()
        #expect(try await Polling.until { server.listeners == 1 })
        let over = #"{"error":{"code":"login_required","message":"the login is over","session":"work"}}"#
        run.agent.change { $0.report = .answer(over, status: 401) }
        server.refuse("at-1")
        for id in 1...3 {
            run.call(Int64(id))
            let complaint = try await run.complaint(Int64(id))
            #expect(complaint == "work: the login is over (run: tokenctl login work)")
            run.agent.change { $0.token = .answer(over, status: 401) }
        }
        #expect(run.agent.requests("/report").count == 1)
        run.agent.change {
            $0.report = nil
            $0.token = .answer(
                #"{"session":"work","access_token":"new","token_type":"Bearer","expires_in":60}"#
            )
        }
        run.call(4)
        #expect(try await run.text(4) == "hello")
        #expect(try await run.finish())
    }

    @Test(.holds("221")) func `an address that no session is for is told with the login that makes one`()
        async throws
    {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address, resource: server.origin + "/other")
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#)
        let complaint = try await run.complaint(1)
        #expect(complaint == "no session for \(server.address) (run: tokenctl login '\(server.address)')")
        #expect(server.requests.isEmpty && run.agent.requests("/token").isEmpty)
        #expect(try await run.finish())
    }

    @Test func `no request is sent with a token that the agent would not give out any more`() async throws {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        try await run.begin()
        run.call(1)
        #expect(try await run.text(1) == "hello")
        run.agent.change { $0.token = .answer(#"{"error":{"code":"locked","message":"no"}}"#, status: 423) }
        run.call(2)
        #expect(try await run.complaint(2).contains("run: tokenctl unlock"))
        #expect(server.requests("tools/call").count == 1)
        // Another user has logged in meanwhile.
        run.agent.change {
            $0.token = .answer(
                #"{"session":"work","access_token":"other","token_type":"Bearer","expires_in":600}"#
            )
        }
        run.call(3)
        #expect(try await run.text(3) == "hello")
        #expect(server.requests("tools/call").last?.token == "other")
        #expect(try await run.finish())
    }

    @Test(
        .holds("223"),
        arguments: ["http://api.example.com/mcp", "grpc://127.0.0.1/mcp", "http://10.0.0.1/mcp"]
    )
    func `a token goes over TLS, or stays on this machine`(address: String) throws {
        #expect(throws: AgentError.self) { try BridgeRun(to: address) }
    }
}
