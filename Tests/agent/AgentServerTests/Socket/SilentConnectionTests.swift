// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import AgentServer

/// Connections on which nothing is asked.
@Suite(.timeLimit(.minutes(10)))
struct SilentConnectionTests {
    @Test(.holds("10")) func `a peer that never asks is let go within a minute, one that has asked is not`()
        async throws
    {
        let agent = try await AgentHarness()
        let (silent, kept, slow) = (try agent.peer(), try agent.peer(), try agent.peer())
        #expect(try await kept.exchange("GET", "/v1").status == 200)
        // Twice a minute; who comes just before the first has the second still ahead.
        await agent.runtime.housekeep()
        try slow.send("GET /v1 HT")
        try slow.send("TP/1.1\r\nHost: tokenagent\r\n\r\n")
        #expect(try await slow.answer().status == 200)
        await agent.runtime.housekeep()
        #expect(try await silent.rest() == "")
        for peer in [kept, slow] { #expect(try await peer.exchange("GET", "/v1").status == 200) }
        await agent.stop()
    }

    @Test func `a connection between requests lives five minutes`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        #expect(try await peer.exchange("GET", "/v1").status == 200)
        for _ in 0..<10 { await agent.runtime.housekeep() }
        #expect(try await peer.exchange("GET", "/v1").status == 200)
        for _ in 0..<11 { await agent.runtime.housekeep() }
        #expect(try await peer.rest() == "")
        await agent.stop()
    }

    /// A program that gets a response at one socket may use the others.
    @Test func `when the agent answers at its socket all others are there`() async throws {
        for _ in 0..<20 {
            let answered = AsyncStream<Bool>.makeStream()
            let agent = try await AgentHarness(
                configure: { configuration, directory in
                    configuration.sockets = (0..<5).map { number in
                        RestrictedSocket(path: directory.path("more/\(number).sock"), sessions: [])
                    }
                },
                beforeStart: { path, directory in
                    let early = try SocketPeer(path)
                    try early.send(SocketPeer.request("GET", "/v1"))
                    Task {
                        _ = try? await early.answer()
                        answered.continuation.yield(
                            (0..<5).allSatisfy { File.exists(directory.path("more/\($0).sock")) }
                        )
                        answered.continuation.finish()
                    }
                }
            )
            for await areThere in answered.stream { #expect(areThere) }
            await agent.stop()
        }
    }
}
