// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct SocketTests {
        @Test func `a stock curl is a client`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let address = "http://tokenagent/v1/sessions/work/token"
            let json = try await scene.agent.shell(
                "curl -sf --unix-socket '\(scene.agent.socketPath)' \(address)"
            )
            #expect(json.status == 0)
            #expect(try JSONValue(parsing: json.standardOutput.utf8).object?["access_token"]?.string == token)
            let text = try await scene.agent.shell(
                "curl -sf --unix-socket '\(scene.agent.socketPath)' -H 'Accept: text/plain' \(address)"
            )
            #expect(text.standardOutput == token + "\n")
        }

        @Test(
            .holds("8"),
            arguments: [
                "GET /v1 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
                "GET /v1 HTTP/1.1\r\n\r\n",
                "GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nHost: tokenagent\r\n\r\n",
                "GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nOrigin: http://localhost\r\n\r\n",
                "GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nReferer: http://localhost/\r\n\r\n",
                "POST /v1/lock HTTP/1.1\r\nHost: tokenagent\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "POST /v1/lock HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 0\r\nContent-Length: 2\r\n\r\n{}",
                "POST /v1/lock HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 65537\r\n\r\n",
                "GET /v1/\(String(repeating: "a", count: 5000)) HTTP/1.1\r\nHost: tokenagent\r\n\r\n",
                "GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nX: \(String(repeating: "a", count: 9000))\r\n\r\n",
                "GET /v1 HTTP/2.0\r\nHost: tokenagent\r\n\r\n",
                "\u{0}\u{1}\u{2}\r\n\r\n",
            ]
        )
        func `a request that no honest client sends is refused`(request: String) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let bytes = try await scene.agent.socket.exchange(Array(request.utf8), within: .seconds(10))
            if let reply = ConnectedAgentSocket.Reply(bytes) { #expect((400..<600).contains(reply.status)) }
            let honest = try await scene.agent.socket.request("GET", "/v1")
            #expect(honest.json?["locked"] == false)
        }

        @Test(.holds("7", "10")) func `a peer that stalls is dropped and delays nobody`() async throws {
            let scene = try await Scene.loggedIn()
            let socket = scene.agent.socket
            let stalled = Task { try await socket.exchange(Array("GET /v1".utf8), within: .seconds(15)) }
            for _ in 0..<20 { _ = try await scene.token() }
            let start = ContinuousClock.now
            _ = try await stalled.value
            #expect(ContinuousClock.now - start < .seconds(8))
        }

        @Test(.holds("22")) func `no answer carries the refresh token`() async throws {
            let scene = try await Scene.loggedIn()
            let refreshToken = try #require(scene.issuer.livingRefreshTokens.first)
            for target in [
                "/v1", "/v1/sessions", "/v1/sessions/work", "/v1/sessions/work/token", "/v1/metrics",
                "/v1/vault",
                "/v1/doctor",
            ] {
                let reply = try await scene.agent.socket.request("GET", target)
                #expect(reply.status == 200, "\(target)")
                #expect(!reply.text.contains(refreshToken))
            }
        }

        @Test func `events are told as they happen`() async throws {
            let scene = try await Scene.loggedIn()
            let watch = try scene.agent.startTokenctl(["watch"])
            // The stream is open once its own lock event arrives.
            #expect(
                try await Polling.until {
                    _ = try await scene.agent.tokenctl("lock")
                    _ = try await scene.agent.tokenctl("unlock")
                    return watch.standardOutput.contains("unlocked")
                }
            )
            _ = try await scene.agent.tokenctl("refresh", "work")
            let line = try await watch.outputLine(containing: #""event":"refreshed""#)
            #expect(try JSONValue(parsing: line.utf8).object?["session"] == "work")
            _ = try await scene.agent.tokenctl("logout", "work")
            _ = try await watch.outputLine(containing: #""event":"logged_out""#)
            watch.signal(.interrupt)
            #expect(try await watch.finish().status == 130)
        }

        @Test(
            .holds("127"),
            arguments: [["watch"], ["watch", "work"], ["audit", "--follow"]],
            [Signal.kill, .terminate]
        )
        func `whoever follows an agent that ends is told so, with 3`(
            command: [String],
            signal: Signal
        ) async throws {
            let scene = try await Scene.loggedIn()
            let follower = try scene.agent.startTokenctl(command)
            let isAudit = command.contains("audit")
            #expect(
                try await Polling.until {
                    if isAudit { return follower.standardOutput.contains("login") }
                    _ = try await scene.agent.tokenctl("lock")
                    _ = try await scene.agent.tokenctl("unlock")
                    return follower.standardOutput.contains("unlocked")
                }
            )
            try await scene.agent.end(signal)
            let result = try await follower.finish()
            #expect(result.standardError == "tokenctl: the agent has ended\n")
            #expect(result.status == 3)
        }

        @Test func `a session is watched again after the agent was, also while that is locked`() async throws
        {
            let scene = try await Scene.loggedIn()
            let first = try scene.agent.startTokenctl(["watch", "work"])
            try await scene.agent.kill()
            #expect(try await first.finish().status == 3)
            try await scene.agent.start()
            _ = try await scene.agent.tokenctl("lock")
            let watch = try scene.agent.startTokenctl(["watch", "work"])
            #expect(
                try await Polling.until {
                    _ = try await scene.agent.tokenctl("unlock")
                    _ = try await scene.agent.tokenctl("lock")
                    return watch.standardOutput.contains("locked")
                }
            )
            _ = try await scene.agent.tokenctl("unlock")
            _ = try await scene.agent.tokenctl("refresh", "work")
            _ = try await watch.outputLine(containing: #""event":"refreshed""#)
            watch.signal(.interrupt)
            #expect(try await watch.finish().status == 130)
        }

        @Test func `a report of an expired token brings a fresh one`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let body = JSONValue.object(
                .init([
                    "token": .string(token), "status": 401,
                    "www_authenticate": #"Bearer error="invalid_token""#,
                ])
            )
            let reply = try await scene.agent.socket.request(
                "POST",
                "/v1/sessions/work/report",
                body: body.text
            )
            #expect(reply.json?["action"] == "retry")
            #expect(reply.json?["access_token"]?.string != token)
            #expect(scene.refreshes == 1)
        }
    }
}

extension JSONObject {
    /// Members for a request.
    fileprivate init(_ members: KeyValuePairs<String, JSONValue>) {
        self.init()
        for (name, value) in members { self[name] = value }
    }
}
