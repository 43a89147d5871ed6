// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Clients of a proxy that want more than they may have.
    @Suite(.full) struct HostileClientTests {
        /// Requests that never reach the upstream, with the status they get.
        static let refused: [(String, String)] = [
            (
                "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET",
                "400"
            ),
            ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"),
            ("POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", "501"),
            ("POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: HOST\r\nX: a\r\n b\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: HOST\nX: y\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: evil\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\n\r\n", "400"), ("GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
            ("CONNECT evil:443 HTTP/1.1\r\nHost: HOST\r\n\r\n", "405"),
            ("TRACE / HTTP/1.1\r\nHost: HOST\r\n\r\n", "405"),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"), ("OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: HOST\r\nOrigin: null\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: HOST\r\nReferer: http://evil.example/page\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: HOST\r\nReferer: https://HOST.evil.example/\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: HOST\r\nReferer: http://HOST@evil.example/\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: HOST\r\nreferer: about:blank\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: HOST\r\nReferer: http://HOST/\r\nReferer: http://e/\r\n\r\n", "403"),
            ("GET / HTTP/1.1\r\nHost: HOST\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: none\r\n\r\n", "403"),
            ("trace / HTTP/1.1\r\nHost: HOST\r\n\r\n", "405"),
            ("GET / HTTP/1.1\r\nHost: HOST\r\nSec-Fetch-Site: cross-site\r\n\r\n", "403"),
            ("GET /v1/../admin HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /v1/%2e%2e/admin HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /v1/%EF%B8%B0/admin HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /admin HTTP/1.1\r\nHost: HOST\r\n\r\n", "403"),
            ("DELETE /v1/x HTTP/1.1\r\nHost: HOST\r\n\r\n", "405"), ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n", "400"),
            ("GET /\(String(repeating: "a", count: 40_000)) HTTP/1.1\r\nHost: HOST\r\n\r\n", "431"),
        ]

        @Test(.holds("231")) func `a request that could be read in two ways reaches nobody`() async throws {
            let scene = try await ProxyScene.start(
                keys: "paths = [\"/v1/*\", \"/\"]\nmethods = [\"GET\", \"POST\"]"
            )
            for (text, status) in Self.refused {
                let answer = try scene.raw(text.replacing("HOST", with: "127.0.0.1:\(scene.port)"))
                #expect(
                    answer.hasPrefix("HTTP/1.1 \(status) "),
                    "\(text.prefix(80)) got \(answer.prefix(200))"
                )
                #expect(answer.contains("Server: tokenagent") && answer.contains("Connection: close"))
            }
            #expect(scene.upstream.requests.isEmpty)
            #expect(try await scene.status(path: "/v1/x") == "200")
        }

        @Test(.holds("231"))
        func `a second request hidden in the first is a second request, with the same rules`()
            async throws
        {
            let scene = try await ProxyScene.start(keys: "paths = [\"/v1/*\"]")
            let host = "127.0.0.1:\(scene.port)"
            let both =
                "POST /v1/a HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 0\r\n\r\nGET /admin HTTP/1.1\r\nHost: \(host)\r\n\r\n"
            let answer = try scene.raw(both)
            #expect(answer.contains("HTTP/1.1 200") && answer.contains("HTTP/1.1 403"))
            #expect(scene.upstream.requests.count == 1)
        }

        @Test func `a body that breaks a rule is written down as that, and HEAD is answered without one`()
            async throws
        {
            let scene = try await ProxyScene.start("--access-log", answer: { _ in .silence })
            let lines = "Host: 127.0.0.1:\(scene.port)\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
            for method in ["HEAD", "POST"] {
                let answer = try scene.raw("\(method) /x HTTP/1.1\r\n\(lines)")
                #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
                #expect(answer.hasSuffix("\r\n\r\n") == (method == "HEAD"), "\(answer)")
            }
            let host = "Host: 127.0.0.1:\(scene.port)\r\n"
            _ = try scene.raw("PUT /x?y HTTP/1.1\r\n\(host)Expect: foo\r\n\r\n")
            _ = try scene.raw("GET http://me:hidden@h/ HTTP/1.1\r\n\(host)\r\n")
            let isTold = try await Polling.until {
                let log = scene.proxy.standardError
                return log.contains("api: refused PUT /x 417 ") && log.contains("api: refused GET - 400 ")
                    && log.contains("api: refused HEAD /x 400 in=0 out=0 ")
                    && log.contains("api: refused POST /x 400 in=0 out=")
            }
            #expect(isTold && !scene.proxy.standardError.contains("hidden"), "\(scene.proxy.standardError)")
        }

        @Test(.holds("231")) func `an upgrade to anything but a websocket is an ordinary request`()
            async throws
        {
            let scene = try await ProxyScene.start()
            let result = try await scene.curl("--http2")
            #expect(result.standardOutput == "fine")
            let request = try #require(scene.upstream.requests.first).lowercased()
            #expect(!request.contains("upgrade") && !request.contains("http2-settings"))
        }

        @Test(
            .holds("232"),
            .enabled(if: OtherUser.canRunPrograms, "only root can become a user who may run our programs")
        )
        func `another user is turned away before a byte is read`() async throws {
            let scene = try await ProxyScene.start()
            let mapped = "http://[::ffff:127.0.0.1]:\(scene.port)"
            for url in [scene.url, mapped] {
                let words = OtherUser.wrapper + ["curl", "-s", "--max-time", "10"]
                let host = ["-H", "Host: 127.0.0.1:\(scene.port)", url]
                let result = try await Program.run(words + host, environment: scene.agent.environment)
                #expect(result.status != 0 && result.standardOutput.isEmpty)
            }
            // One that sends and closes at once: its end belongs to nobody, which reads like root.
            let script = """
                import socket
                for _ in range(200):
                    s = socket.create_connection(("127.0.0.1", \(scene.port)))
                    try: s.sendall(b"POST /x HTTP/1.0\\r\\nContent-Length: 0\\r\\n\\r\\n")
                    except OSError: pass
                    s.close()
                """
            let closing = OtherUser.wrapper + ["python3", "-c", script]
            _ = try await Program.run(closing, environment: scene.agent.environment)
            #expect(scene.upstream.requests.isEmpty)
            #expect(try await scene.status() == "200")
        }

        @Test(.holds("231")) func `clients that send a part of a head delay nobody else`() async throws {
            let scene = try await ProxyScene.start()
            let clients = try (0..<64).map { _ in try PartOfHead(port: scene.port) }
            #expect(try await scene.status() == "200")
            // They were there all the time, and reached nobody.
            #expect(clients.allSatisfy { $0.answerToRest().hasPrefix("HTTP/1.1 400") })
            #expect(scene.upstream.requests.count == 1)
        }

        @Test(.holds("231")) func `a head that trickles is ended in time`() async throws {
            let scene = try await ProxyScene.start()
            let script = """
                import select, socket, time
                def start():
                    client = socket.create_connection(("127.0.0.1", \(scene.port)))
                    client.sendall(b"GET / HTTP/1.1\\r\\nX: ")
                    return client
                clients, said, begin = [start() for _ in range(64)], [], time.monotonic()
                while clients and time.monotonic() - begin < 60:
                    for client in clients: client.sendall(b"x")
                    for client in select.select(clients, [], [], 1)[0]:
                        said.append(client.recv(64)[9:12].decode())
                        clients.remove(client)
                    time.sleep(0.2)
                print(len(said), *set(said), round(time.monotonic() - begin))
                """
            let result = try await Program.run(
                ["python3", "-c", script],
                environment: scene.agent.environment,
                within: .seconds(90)
            )
            let words = result.standardOutput.split(whereSeparator: \.isWhitespace)
            #expect(words.prefix(2) == ["64", "408"], "\(result)")
            let seconds = try #require(words.last.flatMap { Int($0) }, "\(result)")
            #expect((10...30).contains(seconds))
            Attachment.record("64 clients of a byte at a time, ended after \(seconds) s", named: "figure")
        }
    }
}

/// A client that has sent a part of a head.
private final class PartOfHead {
    private let client: RawClient

    init(port: Int) throws {
        client = try RawClient(port: port)
        client.send("GET / HTTP/1.1\r\nHost: ")
    }

    /// Sends the rest, with a host that is none of the listener's.
    func answerToRest() -> String {
        client.send("evil\r\n\r\n")
        return client.read(until: "\r\n")
    }
}
