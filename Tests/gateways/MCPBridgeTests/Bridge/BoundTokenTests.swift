// SPDX-License-Identifier: MIT

import Synchronization
import TestSupport
import Testing
import Text

/// Tokens that are bound to a key, each use of which is proven (RFC 9449).
@Suite(.timeLimit(.minutes(3)))
struct BoundTokenTests {
    /// An agent whose proofs name the nonce they were asked for with.
    private func bind(_ run: BridgeRun) {
        run.agent.change { $0.isBound = true }
    }

    @Test func `each request has a proof of its own`() async throws {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        bind(run)
        try await run.begin()
        run.call(1)
        #expect(try await run.text(1) == "hello")
        #expect(try await Polling.until { server.listeners == 1 })
        #expect(try await run.finish())
        let requests = server.requests
        #expect(requests.allSatisfy { $0.field("authorization") == "DPoP at-1" })
        let proofs = requests.compactMap { $0.field("dpop") }
        #expect(proofs.count == requests.count && Set(proofs).count == proofs.count)
        let asked = run.agent.requests("dpop_url")
        #expect(
            asked.contains { $0.contains("dpop_method=DELETE") }
                && asked.contains { $0.contains("dpop_method=GET") }
        )
    }

    @Test func `a session whose tokens are bound no more goes on without proofs`() async throws {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        bind(run)
        try await run.begin()
        run.call(1)
        #expect(try await run.text(1) == "hello")
        run.agent.change { $0.isBound = false }
        run.call(2)
        #expect(try await run.text(2) == "hello")
        #expect(server.requests("tools/call").last?.field("authorization") == "Bearer at-1")
        #expect(server.requests("tools/call").last?.field("dpop") == nil)
        #expect(try await run.finish())
    }

    @Test func `a nonce that the server wants is in the next proof, and nothing is reported`() async throws {
        let wanted = Mutex("n-1")
        let server = try StreamingServer { request, peer in
            let nonce = wanted.withLock(\.self)
            guard request.field("dpop")?.hasSuffix("-\(nonce)") == true else {
                return peer.answer(
                    401,
                    fields: ["WWW-Authenticate: DPoP error=\"use_dpop_nonce\"", "DPoP-Nonce: \(nonce)"]
                )
            }
            peer.answer(200, #"{"jsonrpc":"2.0","id":\#(request.json?["id"]?.integer ?? 0),"result":"ok"}"#)
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        bind(run)
        for (id, nonce) in [(1, "n-1"), (2, "n-1"), (3, "n-2")] {
            wanted.withLock { $0 = nonce }
            run.send(#"{"jsonrpc":"2.0","id":\#(id),"method":"a"}"#)
            #expect(try await run.answer(Int64(id))["result"]?.string == "ok")
        }
        #expect(server.requests.count == 5)
        #expect(run.agent.requests("/report").isEmpty)
        #expect(try await run.finish())
    }

    @Test func `a server that is never content with a nonce ends the try`() async throws {
        let number = Mutex(0)
        let server = try StreamingServer { _, peer in
            let next = number.withLock { number in
                number += 1
                return number
            }
            peer.answer(
                401,
                fields: ["WWW-Authenticate: DPoP error=\"use_dpop_nonce\"", "DPoP-Nonce: n-\(next)"]
            )
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        bind(run)
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#)
        #expect(try await run.complaint(1).contains("401"))
        #expect(server.requests.count <= 3)
        #expect(try await run.finish())
    }
}
