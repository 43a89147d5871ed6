// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Streams through a proxy.
    @Suite(.full) struct StreamTests {
        private static func request(
            _ scene: ProxyScene,
            _ line: String = "GET / HTTP/1.1",
            fields: String = ""
        ) -> String {
            "\(line)\r\nHost: 127.0.0.1:\(scene.port)\r\n\(fields)\r\n"
        }

        @Test func `events reach the client while the answer goes on`() async throws {
            let scene = try await ProxyScene.start(answer: { _ in
                .bytes(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n"
                )
            })
            let answer = try scene.raw(Self.request(scene), until: "data: 1\n\n")
            #expect(answer.contains("Transfer-Encoding: chunked") && answer.contains("9\r\ndata: 1\n\n"))
        }

        @Test func `trailers and interim answers pass`() async throws {
            let scene = try await ProxyScene.start(answer: { _ in
                .bytes(
                    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTrailer: X-Sum\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n"
                )
            })
            let answer = try scene.raw(Self.request(scene, fields: "Connection: close\r\n"))
            #expect(
                answer.hasPrefix("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n"),
                "\(answer)"
            )
            #expect(answer.hasSuffix("3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n"))
        }

        @Test func `a client of HTTP 1.0 gets no chunks`() async throws {
            let scene = try await ProxyScene.start(answer: { _ in
                .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
            })
            let answer = try scene.raw("GET / HTTP/1.0\r\n\r\n")
            #expect(answer.hasSuffix("\r\n\r\nabc") && !answer.lowercased().contains("chunked"), "\(answer)")
        }

        @Test func `an answer to HEAD has a length and no body`() async throws {
            let scene = try await ProxyScene.start(answer: { _ in
                .bytes("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
            })
            let answer = try scene.raw(
                Self.request(scene, "HEAD / HTTP/1.1") + Self.request(scene, "HEAD /b HTTP/1.0")
            )
            #expect(
                answer.split(separator: "HTTP/1.1 200 OK").count == 2 && answer.contains("Content-Length: 9"),
                "\(answer)"
            )
        }

        @Test func `a body is sent when the upstream wants it`() async throws {
            let scene = try await ProxyScene.start()
            let client = try RawClient(port: scene.port)
            client.send(
                Self.request(
                    scene,
                    "POST / HTTP/1.1",
                    fields: "Content-Length: 3\r\nExpect: 100-continue\r\n"
                )
            )
            client.send("abc")
            #expect(client.read(until: "fine").contains("200 OK"))
            let request = try #require(scene.upstream.requests.first)
            #expect(request.contains("Expect: 100-continue") && request.hasSuffix("\r\n\r\nabc"))
        }

        /// Responds as a server that greets and responds on a websocket.
        ///
        /// Other requests get a response at once.
        private static func answerOnWebSocket(_ request: String) -> RawUpstream.Reply {
            guard request.hasPrefix("GET ") else { return .bytes("pong") }
            guard request.contains("Upgrade: websocket") else { return .bytes(ProxyScene.ok("")) }
            return .bytes(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello"
            )
        }

        /// Opens a websocket.
        private static func webSocket(_ scene: ProxyScene) throws -> RawClient {
            let client = try RawClient(port: scene.port)
            client.send(request(scene, fields: "Upgrade: websocket\r\nConnection: Upgrade\r\n"))
            #expect(client.read(until: "hello").hasPrefix("HTTP/1.1 101"))
            return client
        }

        @Test func `a websocket carries what both sides like`() async throws {
            let scene = try await ProxyScene.start(answer: Self.answerOnWebSocket)
            let client = try Self.webSocket(scene)
            client.send("ping\r\n\r\n")
            #expect(client.read(until: "pong") == "pong")
            #expect(scene.upstream.requests.first?.contains("Authorization: Bearer ") == true)
        }

        @Test func `a websocket has time to end when the proxy ends, and is written down for what it was`()
            async throws
        {
            let scene = try await ProxyScene.start("--access-log", answer: Self.answerOnWebSocket)
            do {
                let client = try Self.webSocket(scene)
                scene.proxy.signal(.terminate)
                let isClosed = try await Polling.until {
                    try await scene.agent.shell("curl -s '\(scene.url)/'").status == 7
                }
                #expect(isClosed)
                client.send("ping\r\n\r\n")
                #expect(client.read(until: "pong") == "pong")
            }
            #expect(try await scene.proxy.finish().status == 0)
            #expect(scene.proxy.standardError.contains("api: GET / 101 "), "\(scene.proxy.standardError)")
        }

        @Test func `requests of one connection are answered in their order`() async throws {
            let scene = try await ProxyScene.start(answer: { request in
                .bytes(ProxyScene.ok(String(request.split(separator: " ")[1])))
            })
            let paths = (0..<20).map { "/\($0)" }
            let all = paths.map { Self.request(scene, "GET \($0) HTTP/1.1") }.joined()
            let answer = try scene.raw(all, until: "/19")
            let bodies = answer.split(separator: "\r\n\r\n").dropFirst().map { $0.prefix { $0 != "H" } }
            #expect(bodies.map(String.init) == paths)
        }

        @Test func `a client that does not read makes the upstream wait, and the proxy no larger`()
            async throws
        {
            let megabytes = 96
            let scene = try await ProxyScene.start(answer: { _ in
                .bytes(ProxyScene.ok(String(repeating: "x", count: megabytes << 20)))
            })
            #expect(try await scene.curl("-o", "/dev/null").status == 0)
            let client = try RawClient(port: scene.port)
            client.send(Self.request(scene))
            #expect(try await scene.status("-r", "0-1") == "200")
            #expect(try await scene.curl("-o", "/dev/null").status == 0)
            let size = try await scene.agent.shell(
                "grep VmHWM /proc/$(pgrep -P \(scene.proxy.pid) -f tokenagent-proxy)/status"
            )
            let kilobytes = size.standardOutput.split(separator: " ").compactMap { Int($0) }.first
            let peak = try #require(kilobytes, "\(size)")
            Attachment.record("\(peak / 1024) MB", named: "figure")
            // An unoptimised build, with its debug symbols mapped.
            #expect(peak < 100 << 10)
        }
    }
}
