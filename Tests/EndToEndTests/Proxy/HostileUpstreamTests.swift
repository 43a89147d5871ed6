// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Upstreams that send what no honest one would.
    @Suite(.full) struct HostileUpstreamTests {
        static let broken = [
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
            "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "garbage\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nSM",
            "HTTP/1.1 200 OK\r\n\u{0}: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nz\r\n",
            String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 40),
            "HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n",
        ]

        @Test(.holds("232")) func `a broken answer is a 502 and never a part of another one`() async throws {
            let turn = TurnCounter()
            let scene = try await ProxyScene.start(answer: { _ in
                .last(Self.broken[turn.next() % Self.broken.count])
            })
            for index in Self.broken.indices {
                let answer = try await scene.curl("-i", "-d", "x").standardOutput
                let last = answer.split(separator: "\r\n").last { $0.hasPrefix("HTTP/1.1 ") }
                #expect(
                    last?.hasPrefix("HTTP/1.1 502") == true,
                    "\(Self.broken[index].prefix(60)) gave \(answer.prefix(200))"
                )
            }
        }

        @Test(.holds("232")) func `an answer that breaks off is one that breaks off for the client`()
            async throws
        {
            let cut = TurnCounter()
            let scene = try await ProxyScene.start(answer: { _ in
                .last(
                    cut.next() == 0
                        ? "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"
                        : "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"
                )
            })
            #expect(try await scene.curl("-d", "x").status == 18)
            #expect([18, 56].contains(try await scene.curl("-d", "x").status))
        }

        @Test(.holds("160", "232")) func `the token goes to no other host`() async throws {
            let other = try await RawUpstream.start { _ in .bytes(ProxyScene.ok()) }
            let places = [
                other.url, "//127.0.0.1:\(other.port)/", "http://user@127.0.0.1:\(other.port)/",
                "/\\127.0.0.1:\(other.port)",
                "HTTP://127.0.0.1:\(other.port)/x", "http:127.0.0.1:\(other.port)", "\(other.url)/\r\n",
            ]
            let turn = TurnCounter()
            let scene = try await ProxyScene.start(answer: { _ in
                let turn = turn.next()
                let status = ["301", "302", "303", "307", "308", "300"][turn % 6]
                let place = places[turn / 6 % places.count].replacing("\r\n", with: "")
                return .bytes("HTTP/1.1 \(status) Moved\r\nLocation: \(place)\r\nContent-Length: 0\r\n\r\n")
            })
            let token = try await scene.scene.token()
            for _ in 0..<42 {
                _ = try await scene.curl("--location", "--max-redirs", "1", "-d", "x")
            }
            #expect(!other.requests.contains { $0.contains(token) || $0.contains("Authorization") })
        }

        @Test(.holds("232"))
        func `a connection that the upstream ended is not used for what could be done twice`()
            async throws
        {
            let turn = TurnCounter()
            let scene = try await ProxyScene.start(answer: { _ in
                turn.next() % 2 == 0 ? .bytes(ProxyScene.ok()) : .close
            })
            #expect(try await scene.status() == "200")
            // The second request of a connection gets no answer; it is sent again on another one.
            #expect(try await scene.status() == "200")
            let before = scene.upstream.requests.count
            #expect(try await scene.status("-d", "x") == "502")
            #expect(scene.upstream.requests.count == before + 1)
        }

        @Test(.holds("232")) func `what the upstream sends without being asked is thrown away`() async throws
        {
            let scene = try await ProxyScene.start(answer: { _ in
                .bytes(ProxyScene.ok() + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            })
            for _ in 0..<5 { #expect(try await scene.curl().standardOutput == "fine") }
        }
    }
}
