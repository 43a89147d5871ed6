// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Programs without a token, and a server that wants one.
    @Suite struct ProxyTests {
        @Test(.holds("230")) func `a request gets the token and nothing of the client's own rights`()
            async throws
        {
            let scene = try await ProxyScene.start()
            let token = try await scene.scene.token()
            let result = try await scene.curl("-u", "me:secret", "-H", "X-A: 1", path: "/v1/%7Ex?a=/../b")
            #expect(result.standardOutput == "fine")
            let request = try #require(scene.upstream.requests.first)
            #expect(
                request.hasPrefix(
                    "GET /v1/%7Ex?a=/../b HTTP/1.1\r\nHost: 127.0.0.1:\(scene.upstream.port)\r\n"
                )
            )
            #expect(
                request.contains("\r\nAuthorization: Bearer \(token)\r\n")
                    && request.contains("\r\nX-A: 1\r\n")
            )
            #expect(!request.contains("Basic "))
            #expect(try await scene.end() == 0)
            #expect(!(scene.proxy.standardOutput + scene.proxy.standardError).contains(token))
        }

        @Test(.holds("230")) func `a body goes through however it is framed`() async throws {
            let scene = try await ProxyScene.start(answer: { request in
                let body = request.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
                return .bytes(ProxyScene.ok(String(body)))
            })
            #expect(try await scene.curl("-d", "hello").standardOutput == "hello")
            let chunked = try await scene.curl("-d", "hello", "-H", "Transfer-Encoding: chunked")
            #expect(chunked.standardOutput == "5\r\nhello\r\n0\r\n\r\n")
            #expect(try await scene.curl("-X", "PUT", "-d", "x", "-0").standardOutput == "x")
            #expect(scene.upstream.connections == 1)
        }

        @Test(.holds("230")) func `what the agent says in place of a token is a problem with a remedy`()
            async throws
        {
            let scene = try await ProxyScene.start()
            #expect(try await scene.status() == "200")
            _ = try await scene.agent.tokenctl("lock")
            let locked = try await scene.curl("-i")
            #expect(
                locked.standardOutput.hasPrefix("HTTP/1.1 423")
                    && locked.standardOutput.contains("Server: tokenagent")
            )
            #expect(locked.standardOutput.contains("Content-Type: application/problem+json"))
            _ = try await scene.agent.tokenctl("unlock")
            _ = try await scene.agent.tokenctl("logout", "work")
            let over = try await scene.curl("-i").standardOutput
            #expect(
                over.hasPrefix("HTTP/1.1 403 Login required (run: tokenctl login work)\r\n")
                    && over.contains("tokenctl login work")
            )
            try await scene.agent.kill()
            #expect(try await scene.status() == "503")
            #expect(scene.upstream.requests.count == 1)
        }

        @Test(.holds("230"))
        func `two hundred programs see no error when the token ends in the middle, which costs one refresh`()
            async throws
        {
            let scene = try await ProxyScene.start(answer: { _ in .bytes(ProxyScene.ok()) })
            let first = try await scene.scene.token()
            let script = """
                seq 200 | xargs -P 50 -I{} curl -s -o /dev/null -w '%{http_code}\\n' --max-time 60 '\(scene.url)/{}'
                """
            async let running = scene.agent.shell(script, within: .seconds(120))
            _ = try await scene.agent.tokenctl("refresh", "work", "--rejected-stdin", input: first + "\n")
            let result = try await running
            let statuses = result.standardOutput.split(separator: "\n")
            #expect(statuses.count == 200 && statuses.allSatisfy { $0 == "200" })
            #expect(scene.scene.refreshes == 1)
        }

        @Test(.holds("230")) func `a program finds the proxy in a variable, and the proxy goes with it`()
            async throws
        {
            let upstream = try await RawUpstream.start { _ in .bytes(ProxyScene.ok()) }
            let scene = try await Scene.loggedIn()
            let script = "echo $API; curl -s $API/x; exit 9"
            let result = try await scene.agent.tokenctl(
                ["proxy", "work", "--upstream", upstream.url, "--env", "API", "--", "sh", "-c", script]
            )
            #expect(result.status == 9 && result.standardError.isEmpty)
            let lines = result.standardOutput.split(separator: "\n")
            #expect(lines.first?.hasPrefix("http://127.0.0.1:") == true && lines.last == "fine")
            let gone = try await scene.agent.shell("curl -s \(lines.first ?? "")")
            #expect(gone.status == 7)
        }

        @Test func `a command is told when its proxy ends before it`() async throws {
            let upstream = try await RawUpstream.start { _ in .bytes(ProxyScene.ok()) }
            let scene = try await Scene.loggedIn()
            let script = """
                kill -9 $(pgrep -P $PPID tokenagent-prox)
                while curl -s -o /dev/null $TOKENAGENT_PROXY_URL/x; do :; done; exit 9
                """
            let result = try await scene.agent.tokenctl(
                ["proxy", "work", "--upstream", upstream.url, "--", "sh", "-c", script]
            )
            #expect(result.status == 9)
            let told = "tokenctl: tokenagent-proxy exited with status 137: requests are no longer served\n"
            #expect(result.standardError == told)
        }

        @Test(.holds("232")) func `a socket is open to this user alone and gone afterwards`() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path("api.sock")
            let scene = try await ProxyScene.start(listen: path)
            #expect(scene.url == "http+unix:\(path)")
            let result = try await scene.agent.shell(
                "stat -c %a '\(path)'; curl -s --unix-socket '\(path)' http://localhost/"
            )
            #expect(result.standardOutput == "600\nfine")
            #expect(try await scene.end() == 0)
            #expect(!File.exists(path))
        }

        @Test(.holds("230")) func `a reload takes over what has changed and leaves the rest alone`()
            async throws
        {
            let scene = try await ProxyScene.start(keys: "methods = [\"GET\"]")
            #expect(try await scene.status("-d", "x") == "405")
            let text = try #require(File.text(scene.agent.configurationPath))
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            try scene.agent.configure(lines.filter { !$0.hasPrefix("methods") }.joined(separator: "\n"))
            scene.proxy.signal(.hangUp)
            #expect(try await Polling.until { try await scene.status("-d", "x") == "200" })
            try scene.agent.configure(text + "\n[[proxy]]\nname = \"bad\"\n")
            scene.proxy.signal(.hangUp)
            #expect(try await Polling.until { scene.proxy.standardError.contains("proxy") })
            #expect(try await scene.status("-d", "x") == "200")
        }

        @Test func `an address that a reload brings is printed, and no other`() async throws {
            let scene = try await ProxyScene.start()
            let text = try #require(File.text(scene.agent.configurationPath))
            let other = """

                [[proxy]]
                name = "other"
                listen = "127.0.0.1:0"
                upstream = "\(scene.upstream.url)"
                session = "work"

                """
            try scene.agent.configure(text + other)
            scene.proxy.signal(.hangUp)
            let line = try await scene.proxy.outputLine(containing: "other ")
            let url = String(line.dropFirst("other ".count))
            #expect(try await scene.agent.shell("curl -s '\(url)'").standardOutput == "fine")
            #expect(scene.proxy.standardOutput.split(separator: "\n").count == 2)
        }
    }
}
