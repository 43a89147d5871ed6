// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// `tokenctl mcp connect` with the real programs, at a server that can be told what to do.
    @Suite struct MCPConnectTests {
        /// The messages on standard output, each of which is JSON-RPC.
        private func messages(_ result: ProgramResult) throws -> [JSONObject] {
            try result.standardOutput.split(separator: "\n").map { line in
                let message = try #require(try JSONValue(parsing: line.utf8).object)
                try #require(message["jsonrpc"]?.string == "2.0")
                return message
            }
        }

        @Test func `a client talks to a server that wants a token, and sees none`() async throws {
            let scene = try await BridgeScene()
            let token = try await scene.scene.token()
            let result = try await scene.converse()
            #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
            #expect(try messages(result).compactMap { $0["id"]?.integer } == [0, 1])
            #expect(result.standardOutput.contains(#""text":"hello""#))
            #expect(!result.standardOutput.contains(token))
            #expect(scene.requests.count > 3 && scene.requests.allSatisfy { $0.token == token })
            // It took leave. What still listened may be read after that, by a server that was busy.
            #expect(scene.server.requests.last { $0.method != "GET" }?.method == "DELETE")
        }

        @Test func `an agent with a runtime directory is found by who has none`() async throws {
            let scene = try await BridgeScene()
            var environment = scene.agent.environment
            environment["XDG_RUNTIME_DIR"] = nil
            let result = try await Program.run(
                [BuiltPrograms.client, "mcp", "connect", scene.server.address],
                environment: environment,
                input: BridgeScene.conversation
            )
            #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
            #expect(result.standardOutput.contains(#""text":"hello""#), "\(result)")
        }

        @Test(.holds("220")) func `20 clients whose token is refused at once share one refresh`() async throws
        {
            let scene = try await BridgeScene()
            scene.server.refuse(try await scene.scene.token())
            let clients = try (0..<20).map { _ in
                try scene.agent.startTokenctl(
                    ["mcp", "connect", scene.server.address],
                    input: BridgeScene.conversation
                )
            }
            for client in clients {
                let result = try await client.finish(within: .seconds(120))
                #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
                #expect(result.standardOutput.contains(#""text":"hello""#), "\(result)")
            }
            #expect(scene.scene.refreshes == 1)
            // Each is given a second to end its session, which is not enough for all of them on a busy machine.
            #expect(scene.server.sessions.begun == 20)
            Attachment.record("20 clients, \(scene.scene.refreshes) refresh, 0 errors", named: "figure")
        }

        @Test(.holds("220")) func `a token that is refused in the middle of a conversation is replaced`()
            async throws
        {
            let scene = try await BridgeScene()
            let client = try scene.open()
            try await client.begin()
            #expect(try await client.call(1, "one") == "one")
            let token = try await scene.scene.token()
            scene.server.refuse(token)
            #expect(try await client.call(2, "two") == "two")
            #expect(scene.scene.refreshes == 1)
            #expect(try await scene.scene.token() != token)
        }

        @Test(.holds("221")) func `a login that is over is told with the command that brings the next one`()
            async throws
        {
            let scene = try await BridgeScene()
            let client = try scene.open()
            try await client.begin()
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            let told = try await client.call(1, "one")
            #expect(told?.hasSuffix("(run: tokenctl login work)") == true, "\(told ?? "")")
            let data = try await client.answer(1)["error"]?.object?["data"]?.object
            #expect(
                data?["code"]?.string == "login_required" && data?["remedy"]?.string == "tokenctl login work"
            )
            // The user does this, and the same client continues.
            #expect(try await scene.agent.tokenctl("login", "work").status == 0)
            #expect(try await client.call(2, "two") == "two")
            client.program.signal(.terminate)
            let result = try await client.program.finish()
            #expect(result.status == 143 && result.complainsInOneLine, "\(result)")
            #expect(try messages(result).count == 3)
        }

        @Test func `nothing is sent while the agent is locked, or after its end`() async throws {
            let scene = try await BridgeScene()
            let client = try OpenClient(scene.agent, scene.server.address, options: "--no-autostart")
            try await client.begin()
            #expect(try await scene.agent.tokenctl("lock").status == 0)
            let told = try await client.call(1, "one")
            #expect(told?.hasSuffix("(run: tokenctl unlock)") == true, "\(told ?? "")")
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            #expect(try await client.call(2, "two") == "two")
            #expect(try await scene.agent.end(.terminate) == 0)
            _ = try await client.call(3, "three")
            let data = try await client.answer(3)["error"]?.object?["data"]?.object
            #expect(data?["code"]?.string == "no_agent")
            #expect(scene.server.requests("tools/call").count == 1)
        }

        @Test(.holds("221")) func `more scopes are named as a command for a shell`() async throws {
            let scene = try await BridgeScene()
            let client = try scene.open()
            try await client.begin()
            scene.server.refuse(
                try await scene.scene.token(),
                status: 403,
                challenge: #"Bearer error="insufficient_scope", scope="admin $(id)""#
            )
            let told = try await client.call(1, "one")
            #expect(
                told?.hasSuffix("(run: tokenctl login work --scope 'admin $(id)')") == true,
                "\(told ?? "")"
            )
            #expect(scene.scene.refreshes == 0)
        }

        @Test(arguments: [("TERM", Signal.terminate, Int32(143)), ("INT", .interrupt, 130)])
        func `a signal ends it with its session`(name: String, signal: Signal, status: Int32) async throws {
            let scene = try await BridgeScene()
            let client = try scene.open()
            try await client.begin()
            #expect(scene.server.sessions.open == 1)
            client.program.signal(signal)
            let result = try await client.program.finish(within: .seconds(10))
            #expect(result.status == status && result.standardError.isEmpty, "\(name): \(result)")
            #expect(scene.server.sessions.open == 0)
        }

        @Test(.holds("222")) func `a session that the server has ended begins again`() async throws {
            let scene = try await BridgeScene()
            let client = try scene.open()
            try await client.begin()
            scene.server.forgetSessions()
            #expect(try await client.call(1, "one") == "one")
            #expect(scene.server.sessions.begun == 2)
            #expect(client.program.standardOutput.split(separator: "\n").count == 2)
        }

        @Test func `a restricted socket is enough for a client, as in a container`() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path("mcp.sock")
            let scene = try await BridgeScene()
            let configuration = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(
                configuration + "\n[[socket]]\npath = \"\(path)\"\nsessions = [\"work\"]\n"
            )
            #expect(try await scene.agent.end(.terminate) == 0)
            try await scene.agent.start()
            let client = try OpenClient(scene.agent, scene.server.address, options: "--socket '\(path)'")
            try await client.begin()
            #expect(try await client.call(1, "one") == "one")
            // A refused token heals there too.
            scene.server.refuse(try await scene.scene.token())
            #expect(try await client.call(2, "two") == "two")
            #expect(scene.scene.refreshes == 1)
        }

        @Test(.holds("223")) func `nothing of the token is in arguments or environment`() async throws {
            let scene = try await BridgeScene()
            let token = try await scene.scene.token()
            let client = try scene.open()
            try await client.begin()
            let place = "/proc/\(client.program.pid)"
            let words = File.text("\(place)/cmdline") ?? ""
            #expect(words.contains("tokenagent-mcp") && !words.contains(token))
            #expect(File.text("\(place)/environ")?.contains(token) != true)
        }

        @Test(.holds("223")) func `a session is shown to the program that started the client`() async throws {
            let scene = try await BridgeScene()
            // A shell of its own: any other one may have started the tests.
            let shell = scene.agent.home.path("starter")
            #expect(try await scene.agent.shell("cp /bin/sh '\(shell)'").status == 0)
            let configuration = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(configuration + "allow = [{ exe = \"\(shell)\" }]\n")
            #expect(try await scene.agent.end(.terminate) == 0)
            try await scene.agent.start()
            let alone = try await scene.converse()
            #expect(alone.standardOutput.contains("no session for"), "\(alone)")
            try scene.agent.home.write(BridgeScene.conversation, to: "said")
            let started = try await scene.agent.shell(
                "'\(shell)' -c 'tokenctl mcp connect \(scene.server.address) <\"$HOME/said\"; true'"
            )
            #expect(started.standardOutput.contains(#""text":"hello""#), "\(started)")
        }

        @Test(arguments: [
            ["https://"], ["http://mcp.example.com/mcp"], ["ftp://127.0.0.1/"], [],
            ["https://a.example/../b"], ["me:hidden@a.example/mcp"], ["https:me:hidden@a.example/mcp"],
            ["https://me:hidden@a.example/mcp"],
            ["https://a.example/hidden#part"],
            ["https://a.example/hidden\u{e9}"], ["https://a.example/hidden\u{7}"],
            ["https://a.example/mcp", "--ca-file", "/nonexistent"],
        ])
        func `an address that is none is refused at once`(words: [String]) async throws {
            let agent = try AgentUnderTest()
            let result = try await agent.tokenctl(["mcp", "connect"] + words)
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(result.standardOutput.isEmpty && !result.standardError.contains("hidden"))
        }

        @Test func `two hundred calls go one after the other`() async throws {
            let scene = try await BridgeScene()
            let client = try scene.open()
            try await client.begin()
            var times: [Duration] = []
            for id in 1...200 {
                let start = ContinuousClock.now
                client.send(#"{"jsonrpc":"2.0","id":\#(id),"method":"tools/list"}"#)
                _ = try await client.answer(id)
                times.append(try #require(scene.server.requests("tools/list").last).at - start)
            }
            let median = times.sorted()[times.count / 2]
            let figure = "\(median) from the client's line to the server, an unoptimised build"
            Attachment.record(figure, named: "figure")
            #expect(scene.server.requests("tools/list").count == 200)
        }
    }
}
