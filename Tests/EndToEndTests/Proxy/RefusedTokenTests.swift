// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Servers that do not take the token that the proxy adds.
    @Suite struct RefusedTokenTests {
        @Test(.holds("230"))
        func `a refused token is reported once, and the request sent again with its body`() async throws {
            let scene = try await ProxyScene.start(answer: { _ in .bytes(Self.refusal) })
            // Every token is refused: the second refusal goes through as it came.
            let refused = try await scene.curl("-i", "-d", "body")
            #expect(
                refused.standardOutput.contains("401")
                    && refused.standardOutput.contains("WWW-Authenticate: Bearer")
            )
            #expect(refused.standardOutput.hasSuffix("no"))
            let requests = scene.upstream.requests
            #expect(requests.count == 2 && requests.allSatisfy { $0.hasSuffix("\r\n\r\nbody") })
            #expect(Set(requests.compactMap(Self.token)).count == 2)
            #expect(scene.scene.refreshes == 1)
        }

        @Test(.holds("230")) func `a fresh token heals a refusal before the client sees it`() async throws {
            let first = FirstText()
            let scene = try await ProxyScene.start(answer: { request in
                first.take(Self.token(request)) ? .bytes(Self.refusal) : .bytes(ProxyScene.ok())
            })
            let result = try await scene.curl("-d", "body")
            #expect(result.standardOutput == "fine")
            #expect(scene.upstream.requests.count == 2)
        }

        @Test(.holds("230")) func `a body too long to be kept is sent once`() async throws {
            let scene = try await ProxyScene.start(answer: { _ in .bytes(Self.refusal) })
            try scene.agent.home.write(String(repeating: "x", count: 3 << 20), to: "body")
            let path = scene.agent.home.path("body")
            #expect(try await scene.status("--data-binary", "@\(path)", "-H", "Expect:") == "401")
            #expect(scene.upstream.requests.count <= 1)
        }

        @Test(.holds("230"))
        func `a body that the server did not want yet goes with the next token, however long it is`()
            async throws
        {
            let first = FirstText()
            let scene = try await ProxyScene.start(
                answer: { first.take(Self.token($0)) ? .bytes(Self.refusal) : .bytes(ProxyScene.ok()) },
                early: { first.take(Self.token($0)) }
            )
            let body = String(repeating: "x", count: 3 << 20)
            try scene.agent.home.write(body, to: "body")
            let path = scene.agent.home.path("body")
            let result = try await scene.curl("-T", path, "-H", "Expect: 100-continue")
            #expect(result.standardOutput == "fine", "\(result)")
            let requests = scene.upstream.requests
            #expect(requests.count == 2 && requests.last?.hasSuffix("\r\n\r\n" + body) == true)
        }

        /// Refusals that end otherwise than they should.
        private static let disturbed: [RawUpstream.Reply] = [
            .reset(refusal), .reset(refusal(chunks: "5\r\nhe")), .last(refusal(chunks: "5\r\nhe")),
            .bytes(refusal(chunks: "z\r\n")), .bytes(refusal(chunks: "5\r\nhello\r\n")),
        ]

        @Test(.holds("230"), arguments: disturbed)
        func `a refusal is one however it ends`(refusal: RawUpstream.Reply) async throws {
            let first = FirstText()
            let scene = try await ProxyScene.start(answer: { request in
                first.take(Self.token(request)) ? refusal : .bytes(ProxyScene.ok())
            })
            #expect(try await scene.curl("-d", "body").standardOutput == "fine")
            #expect(scene.upstream.requests.count == 2 && scene.scene.refreshes == 1)
        }

        @Test(.holds("230"))
        func `a refusal that has nothing to do with the token goes through as far as it is whole`()
            async throws
        {
            let turn = TurnCounter()
            let endless = Self.refusal(for: "invalid_request", chunks: "5\r\nhello\r\n")
            let replies: [RawUpstream.Reply] = [
                .reset(Self.refusal.replacing("invalid_token", with: "invalid_request")),
                .last(Self.refusal(for: "invalid_request", chunks: "5\r\nhe")), .bytes(endless),
            ]
            let scene = try await ProxyScene.start(answer: { _ in replies[turn.next() % replies.count] })
            let whole = try await scene.curl("-i", "-d", "x").standardOutput
            #expect(whole.hasPrefix("HTTP/1.1 401") && whole.hasSuffix("\r\n\r\nno"), "\(whole)")
            let cut = try await scene.curl("-i", "-d", "x").standardOutput
            #expect(cut.hasPrefix("HTTP/1.1 502") && cut.contains("is incomplete"), "\(cut)")
            let request = "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\n\r\n"
            let begun = try scene.raw(request, until: "hello")
            #expect(begun.hasPrefix("HTTP/1.1 401") && begun.hasSuffix("5\r\nhello\r\n"), "\(begun)")
            #expect(scene.upstream.requests.count == replies.count && scene.scene.refreshes == 0)
        }

        private static let refusal =
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\nContent-Length: 2\r\n\r\nno"

        /// A refusal with a body of `chunks`.
        private static func refusal(for error: String = "invalid_token", chunks: String) -> String {
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"\(error)\"\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n\(chunks)"
        }

        private static func token(_ request: String) -> String? {
            let lines = request.split(separator: "\r\n")
            return lines.first { $0.hasPrefix("Authorization: Bearer ") }.map { String($0.dropFirst(22)) }
        }
    }
}
