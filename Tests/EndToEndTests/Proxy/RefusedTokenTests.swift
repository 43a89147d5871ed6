// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Servers that do not take the token that the proxy adds.
    @Suite struct RefusedTokenTests {
        @Test func `a refused token is reported once, and the request sent again with its body`() async throws
        {
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

        @Test func `a fresh token heals a refusal before the client sees it`() async throws {
            let first = FirstText()
            let scene = try await ProxyScene.start(answer: { request in
                first.take(Self.token(request)) ? .bytes(Self.refusal) : .bytes(ProxyScene.ok())
            })
            let result = try await scene.curl("-d", "body")
            #expect(result.standardOutput == "fine")
            #expect(scene.upstream.requests.count == 2)
        }

        @Test func `a body too long to be kept is sent once`() async throws {
            let scene = try await ProxyScene.start(answer: { _ in .bytes(Self.refusal) })
            try scene.agent.home.write(String(repeating: "x", count: 3 << 20), to: "body")
            let path = scene.agent.home.path("body")
            #expect(try await scene.status("--data-binary", "@\(path)", "-H", "Expect:") == "401")
            #expect(scene.upstream.requests.count <= 1)
        }

        /// Refusals that end otherwise than they should.
        private static let disturbed: [RawUpstream.Reply] = [
            .reset(refusal)
        ]

        @Test(arguments: disturbed)
        func `a refusal is one however it ends`(refusal: RawUpstream.Reply) async throws {
            let first = FirstText()
            let scene = try await ProxyScene.start(answer: { request in
                first.take(Self.token(request)) ? refusal : .bytes(ProxyScene.ok())
            })
            #expect(try await scene.curl("-d", "body").standardOutput == "fine")
            #expect(scene.upstream.requests.count == 2 && scene.scene.refreshes == 1)
        }

        private static let refusal =
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\nContent-Length: 2\r\n\r\nno"

        private static func token(_ request: String) -> String? {
            let lines = request.split(separator: "\r\n")
            return lines.first { $0.hasPrefix("Authorization: Bearer ") }.map { String($0.dropFirst(22)) }
        }
    }
}
