// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// The stream of what the server says by itself: how soon it is opened again.
@Suite(.timeLimit(.minutes(3)))
struct ListeningTests {
    @Test func `a stream that ends again and again with no news is opened at even distances`() async throws {
        let server = try StreamingServer { request, peer in
            guard request.method == "GET" else {
                guard let id = request.json?["id"]?.integer else { return peer.answer(202) }
                return peer.answer(
                    200,
                    #"{"jsonrpc":"2.0","id":\#(id),"result":{"protocolVersion":"2025-11-25"}}"#
                )
            }
            peer.beginStream()
            peer.piece("retry: 100\n: ping\n\n")
            peer.endStream()
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        try await run.begin()
        // Ever longer pauses would come to six minutes.
        #expect(try await Polling.until { server.requests.count { $0.method == "GET" } >= 12 })
        let times = server.requests.filter { $0.method == "GET" }.map(\.at)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= .milliseconds(200) })
        #expect(try await run.finish())
    }
}
