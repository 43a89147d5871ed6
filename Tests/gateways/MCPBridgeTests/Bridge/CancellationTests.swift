// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// Requests that the client gives up, and packets of several.
@Suite(.timeLimit(.minutes(3)))
struct CancellationTests {
    private static let cancel =
        #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}"#

    /// A server whose tool `slow` streams and waits until it is left.
    private func slowServer(_ left: Flag = Flag()) throws -> MCPDouble {
        let server = try MCPDouble()
        server.add("slow") { _, peer in
            peer.beginStream()
            peer.event(#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#)
            peer.waitUntilLeft()
            left.raise()
        }
        return server
    }

    @Test func `the server is told of a request that is cancelled, and left`() async throws {
        let left = Flag()
        let server = try slowServer(left)
        let run = try BridgeRun(to: server.address)
        try await run.begin()
        run.call(1, "slow")
        _ = try await run.message { $0["method"]?.string == "notifications/progress" }
        #expect(!left.isRaised)
        run.send(Self.cancel)
        #expect(try await Polling.until { server.requests("notifications/cancelled").count == 1 })
        #expect(try await Polling.until { left.isRaised })
        run.call(2)
        #expect(try await run.text(2) == "hello")
        #expect(try await run.finish())
        #expect(!run.written.contains { $0.contains(#""id":1,"#) })
    }

    @Test func `an opening is given up, and so is what waits for it`() async throws {
        let server = try StreamingServer { request, peer in
            let id = request.json?["id"]?.integer ?? 0
            guard id > 2 else { return peer.waitUntilLeft() }
            peer.answer(200, #"{"jsonrpc":"2.0","id":\#(id),"result":"ok"}"#)
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#)
        run.send(#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
        #expect(try await Polling.until { server.requests.count == 1 })
        run.send(#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#)
        run.send(Self.cancel)
        // The client tries again.
        run.send(#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}"#)
        #expect(try await run.answer(3)["result"]?.string == "ok")
        #expect(try await run.finish())
        #expect(server.requests.compactMap { $0.json?["id"]?.integer } == [1, 3])
        #expect(run.written.count == 1)
    }

    @Test(.holds("222")) func `from 2026-07-28 on a closed connection says it`() async throws {
        let gone = Flag()
        let server = try StreamingServer { request, peer in
            guard request.field("mcp-method") == "tools/call" else { return peer.answer(500) }
            peer.beginStream()
            peer.event(#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#)
            peer.waitUntilLeft()
            gone.raise()
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        run.send(
            #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#
        )
        _ = try await run.message { $0["method"]?.string == "notifications/progress" }
        #expect(server.requests.first?.field("mcp-protocol-version") == "2026-07-28")
        #expect(server.requests.first?.field("mcp-name") == "slow")
        run.send(Self.cancel)
        #expect(try await Polling.until { gone.isRaised })
        #expect(server.requests.count == 1)
        #expect(try await run.finish())
        #expect(run.written.count == 1)
    }

    @Test func `an identifier that is used again means the later request`() async throws {
        let server = try slowServer()
        let run = try BridgeRun(to: server.address)
        try await run.begin()
        run.call(1, "slow")
        _ = try await run.message { $0["method"]?.string == "notifications/progress" }
        run.call(1, text: "second")
        #expect(try await run.text(1) == "second")
        #expect(try await run.finish())
        #expect(run.written.filter { $0.contains(#""id":1,"#) }.count == 1)
    }

    @Test func `a batch goes as one, and each of its requests is answered`() async throws {
        let server = try StreamingServer { request, peer in
            guard request.body.hasPrefix("[") else { return peer.answer(500) }
            peer.answer(
                200,
                #"[{"jsonrpc":"2.0","id":1,"result":"a"},{"jsonrpc":"2.0","id":9,"result":"not asked"}]"#
            )
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        run.send(
            #"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2,"method":"b"}]"#
        )
        #expect(try await run.complaint(2).contains("before the request was answered"))
        #expect(try await run.finish())
        #expect(server.requests.count == 1)
        #expect(run.written.first == #"[{"jsonrpc":"2.0","id":1,"result":"a"}]"#)
        #expect(run.written.count == 2)
    }

    @Test func `lines that are no messages are answered, and the next one is read`() async throws {
        let server = try MCPDouble()
        let run = try BridgeRun(to: server.address)
        run.send("hello")
        run.send("{}")
        run.send("")
        #expect(try await Polling.until { run.written.count == 2 })
        let codes = run.written.compactMap {
            (try? JSONValue(parsing: $0.utf8))?.object?["error"]?.object?["code"]?.integer
        }
        #expect(codes == [-32_700, -32_600])
        try await run.begin()
        #expect(try await run.finish())
    }
}
