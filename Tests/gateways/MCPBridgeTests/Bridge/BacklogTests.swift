// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// Messages that a client sends before `initialize` is answered, and a backlog that exceeds its limit.
@Suite(.timeLimit(.minutes(3)))
struct BacklogTests {
    /// A limit smaller than the input of every test and than the capacity of a pipe.
    private static let limit = 1000
    private static let opening =
        #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#

    @Test func `a full backlog keeps nobody whose input has ended`() async throws {
        let server = try StreamingServer { _, peer in peer.waitUntilLeft() }
        let run = try BridgeRun(
            to: "http://127.0.0.1:\(server.port)/mcp",
            drainLimit: .milliseconds(200),
            backlogLimit: Self.limit
        )
        run.send(Self.opening)
        for id in 1...100 { run.call(Int64(id)) }
        #expect(try await Polling.until { server.requests.count == 1 })
        #expect(try await run.finish())
        #expect(server.requests.count == 1 && run.written.isEmpty)
    }

    @Test func `a full backlog goes on when the opening is answered`() async throws {
        let openings = AsyncStream.makeStream(of: StreamingServer.Peer.self)
        let server = try StreamingServer { request, peer in
            let id = request.json?["id"]?.integer ?? 0
            if id == 0 {
                openings.continuation.yield(peer)
            } else {
                peer.answer(200, #"{"jsonrpc":"2.0","id":\#(id),"result":"ok"}"#)
            }
        }
        let run = try BridgeRun(
            to: "http://127.0.0.1:\(server.port)/mcp",
            backlogLimit: Self.limit
        )
        run.send(Self.opening)
        for id in 1...100 { run.call(Int64(id)) }
        for await peer in openings.stream.prefix(1) {
            peer.answer(200, #"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}"#)
        }
        for id in 1...100 { #expect(try await run.answer(Int64(id))["result"]?.string == "ok") }
        #expect(try await run.finish())
        #expect(run.written.count == 101)
    }
}
