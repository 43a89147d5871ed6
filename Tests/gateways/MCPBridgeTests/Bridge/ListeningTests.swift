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

    @Test func `the stream is opened again soon after a request gets a token again`() async throws {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        try await run.begin()
        #expect(try await Polling.until { server.listeners == 1 })
        run.agent.change { $0.token = .answer(#"{"error":{"code":"locked","message":"no"}}"#, status: 423) }
        let asked = run.agent.requests("/token").count
        server.leaveListeners()
        // The next try by itself would come after 16 seconds.
        #expect(
            try await Polling.until(within: .seconds(60)) { run.agent.requests("/token").count == asked + 3 }
        )
        run.agent.change { $0.token = nil }
        run.call(1)
        #expect(try await run.text(1) == "hello")
        #expect(try await Polling.until(within: .seconds(12)) { server.listeners == 2 })
        #expect(try await run.finish())
    }
}
