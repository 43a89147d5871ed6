// SPDX-License-Identifier: MIT

import Synchronization
import TestSupport
import Testing
import Text

/// A flag that is set once.
final class Flag: Sendable {
    private let state = Mutex(false)

    var isRaised: Bool { state.withLock(\.self) }

    func raise() {
        state.withLock { $0 = true }
    }
}

/// Servers that violate HTTP, event streams, JSON-RPC or MCP.
///
/// The client gets an error, and nothing else happens.
@Suite(.timeLimit(.minutes(5)))
struct HostileServerTests {
    private static let good = #"{"jsonrpc":"2.0","id":1,"result":"ok"}"#
    private static func head(_ type: String, _ rest: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n\(rest)\r\n"
    }
    private static func whole(
        _ body: String,
        _ type: String = "application/json",
        _ rest: String = ""
    ) -> String {
        head(type, "Content-Length: \(body.utf8.count)\r\n\(rest)") + body
    }
    private static let truncated: String = head("application/json", "Content-Length: 100\r\n") + good
    private static let badChunk: String =
        head("text/event-stream", "Transfer-Encoding: chunked\r\n") + "zz\r\n"
    private static let manyFields: String = head("a/b", String(repeating: "X: y\r\n", count: 500))
    private static func redirect(_ status: Int) -> String {
        "HTTP/1.1 \(status) X\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"
    }

    /// The bytes that a server sends before it closes the connection, and a part of the error for the client.
    static let answers: [(String, String)] = [
        ("", "no response"), ("SSH-2.0-OpenSSH\r\n", "no response"), ("HTTP/1.1 200 OK\r\n", "no response"),
        ("HTTP/9.9 200 OK\r\n\r\n", "no response"),
        (truncated, "no response"),
        (whole("<html>captive portal</html>", "text/html"), "neither JSON nor"),
        (whole(""), "not a JSON-RPC message"),
        (whole("null"), "not a JSON-RPC message"),
        (whole(#"{"jsonrpc":"2.0","id":1,"#), "not a JSON-RPC message"),
        (whole(#"{"jsonrpc":"2.0","id":1,"result":1,"id":2}"#), "not a JSON-RPC message"),
        (whole(#"{"jsonrpc":"2.0","id":2,"result":1}"#), "before the request was answered"),
        (whole(#"{"jsonrpc":"2.0","id":"1","result":1}"#), "before the request was answered"),
        (whole(String(repeating: "[", count: 100_000)), "not a JSON-RPC message"),
        (whole("event: x", "text/event-stream"), "before the request was answered"),
        (whole("data: hello\n\n", "text/event-stream"), "not a JSON-RPC message"),
        (whole("data: {\"a\":\u{0}}\n\n", "text/event-stream"), "not a JSON-RPC message"),
        (
            whole("event: endpoint\ndata: /elsewhere\n\n", "text/event-stream"),
            "before the request was answered"
        ),
        (
            whole(
                #"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON here"}}"#,
                "application/json"
            ),
            "no JSON here"
        ),
        (whole(#"{"jsonrpc":"2.0","error":{"code":-1,"message":"not now"}}"#, "application/json"), "not now"),
        ("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", "status 202"),
        ("HTTP/1.1 204 No Content\r\n\r\n", "status 204"),
        (redirect(301), "refusing to follow a redirect to http://169.254.169.254/"),
        (redirect(302), "refusing to follow a redirect to http://169.254.169.254/"),
        (redirect(303), "refusing to follow a redirect to http://169.254.169.254/"),
        (redirect(307), "refusing to follow a redirect to http://169.254.169.254/"),
        (redirect(308), "refusing to follow a redirect to http://169.254.169.254/"),
        ("HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\noops", "status 500"),
        ("HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n", "status 404"),
        ("HTTP/1.1 429 X\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n", "(retry: in 30s)"),
        (manyFields, "head"),
        ("HTTP/1.1 200 OK\r\nX: \(String(repeating: "y", count: 200_000))\r\n\r\n", "response"),
        (badChunk, "before the request was answered"),
    ]

    @Test(.holds("223"), arguments: answers)
    func `an answer that is none is told as that`(answer: String, words: String) async throws {
        let server = try StreamingServer { _, peer in
            peer.send(answer.utf8)
            peer.leave()
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        let complaint = try await run.complaint(1)
        #expect(complaint.contains(words), "\(complaint)")
        #expect(complaint.utf8.allSatisfy { (0x20...0x7E).contains($0) } && complaint.utf8.count < 500)
        #expect(try await run.finish())
        // The request is not repeated, because it may have been carried out.
        #expect(run.written.count == 1)
        #expect(server.requests.count == 1)
    }

    @Test func `the error in a server's own words is the client's`() async throws {
        let server = try StreamingServer { _, peer in
            peer.answer(
                400,
                "{\"jsonrpc\":\"2.0\",\"id\":null,\n\"error\":{\"code\":-32020,\"message\":\"m\",\"data\":[1]}}"
            )
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        #expect(try await run.answer(1)["error"] == ["code": -32_020, "message": "m", "data": [1]])
        #expect(try await run.finish())
    }

    /// Bodies of a rejection that would be more than one line, or no error, and what the client is told.
    private static let rejections: [(String, JSONValue)] = [
        (
            "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"error\": {\r\n\"code\": -32602, \"message\": \"no\"\n}\n}",
            ["code": -32_602, "message": "no"]
        ),
        // A separate line would be a response to another request.
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"x\",\"data\":\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n}}",
            ["code": -1, "message": "x", "data": ["jsonrpc": "2.0", "id": 2, "result": [:]]]
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"x\",\"data\":\"\u{2028}{}\u{85}\"}}",
            ["code": -1, "message": "x", "data": "\u{2028}{}\u{85}"]
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"x\",\"data\":\"\n{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":2}\n\"}}",
            ["code": -32_000, "message": "the server responded with status 400"]
        ),
        (
            #"{"jsonrpc":"2.0","id":1,"error":"text"}"#,
            ["code": -32_000, "message": "the server responded with status 400: text"]
        ),
        (
            #"{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}"#,
            ["code": -32_000, "message": "the server responded with status 400: m"]
        ),
        (
            #"{"error":"invalid_request","error_description":"no header"}"#,
            ["code": -32_000, "message": "the server responded with status 400: no header"]
        ),
        (
            #"{"jsonrpc":"2.0","error":{"code":10,"message":"no header","id":null}}"#,
            ["code": 10, "message": "no header", "id": .null]
        ),
        (
            #"{"detail":"Not Found"}"#,
            ["code": -32_000, "message": "the server responded with status 400: Not Found"]
        ),
        (
            #"{"message":"Forbidden"}"#,
            ["code": -32_000, "message": "the server responded with status 400: Forbidden"]
        ),
        ("<html>error</html>", ["code": -32_000, "message": "the server responded with status 400"]),
        // The identifier of another request, or one of another type, is ignored.
        (#"{"jsonrpc":"2.0","id":2,"error":{"code":-5,"message":"m"}}"#, ["code": -5, "message": "m"]),
        (#"{"jsonrpc":"2.0","id":"1","error":{"code":-5,"message":"m"}}"#, ["code": -5, "message": "m"]),
        (#"{"jsonrpc":"2.0","id":{},"error":{"code":-5,"message":"m"}}"#, ["code": -5, "message": "m"]),
        (
            "\u{FEFF}{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-5,\"message\":\"m\"}}",
            ["code": -5, "message": "m"]
        ),
        (
            "\u{FEFF}{\"error\":\"invalid_request\",\"error_description\":\"no header\"}",
            ["code": -32_000, "message": "the server responded with status 400: no header"]
        ),
        // Lines that end with CR alone, or with a line separator of Unicode.
        (
            "{\"jsonrpc\":\"2.0\",\r\"id\":1,\r\"error\":{\"code\":-5,\r\"message\":\"a\u{2029}b\"}}\r",
            ["code": -5, "message": "a\u{2029}b"]
        ),
        // A result is not an error, and a batch is not a response to one request.
        (
            #"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
            ["code": -32_000, "message": "the server responded with status 400"]
        ),
        (
            #"[{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"m"}},{"jsonrpc":"2.0","id":2,"result":{}}]"#,
            ["code": -32_000, "message": "the server responded with status 400"]
        ),
        (
            #"{"jsonrpc":"2.0","id":1,"error":{"code":-5.5,"message":"m"}}"#,
            ["code": -32_000, "message": "the server responded with status 400: m"]
        ),
        (
            #"{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"m"},"error":{"code":-6,"message":"n"}}"#,
            ["code": -32_000, "message": "the server responded with status 400"]
        ),
        (endless, ["code": -32_000, "message": "the server responded with status 400"]),
    ]

    private static let endless: String =
        #"{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":""# + String(repeating: "m", count: 70_000)
        + #""}}"#

    @Test(.holds("222"), arguments: rejections)
    func `a rejection is one answer on one line, whatever its body`(
        body: String,
        error: JSONValue
    ) async throws {
        let server = try StreamingServer { request, peer in
            if request.json?["id"]?.integer == 2 { return peer.answer(200, MCPDouble.result(2, "own")) }
            peer.answer(400, body)
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        #expect(try await run.answer(1)["error"] == error)
        run.send(#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
        #expect(try await run.text(2) == "own")
        #expect(try await run.finish())
        #expect(run.written.count == 2, "\(run.written)")
    }

    @Test func `plain text of a rejection is quoted`() async throws {
        let server = try StreamingServer { _, peer in
            peer.send(
                "HTTP/1.1 400 X\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nno\nsession\n".utf8
            )
            peer.leave()
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        let complaint = try await run.complaint(1)
        #expect(complaint.hasPrefix("the server responded with status 400: no"), "\(complaint)")
        #expect(complaint.utf8.allSatisfy { (0x20...0x7E).contains($0) })
        #expect(try await run.finish())
    }

    @Test(.holds("223")) func `an answer is given once, and answers to nothing are dropped`() async throws {
        let server = try StreamingServer { request, peer in
            let id = request.json?["id"]?.integer ?? 0
            peer.beginStream()
            for text in ["first", "second"] {
                peer.event(#"{"jsonrpc":"2.0","id":\#(id),"result":"\#(text)"}"#)
                peer.event(#"{"jsonrpc":"2.0","id":77,"result":"never asked"}"#)
                peer.event(#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"nobody"}}"#)
            }
            peer.endStream()
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        for id in 1...3 {
            run.send(#"{"jsonrpc":"2.0","id":\#(id),"method":"a"}"#)
            #expect(try await run.answer(Int64(id))["result"]?.string == "first")
        }
        #expect(try await run.finish())
        #expect(run.written.count == 3)
    }

    @Test(.holds("223")) func `events without end are cut off, and so are many at once`() async throws {
        let server = try StreamingServer { _, peer in
            peer.beginStream()
            let piece = String(repeating: "a", count: 1 << 20)
            peer.piece("data: ")
            for _ in 0..<5 { peer.piece(piece) }
            peer.waitUntilLeft()
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp", messageLimit: 4 << 20)
        for id in 1...6 { run.send(#"{"jsonrpc":"2.0","id":\#(id),"method":"a"}"#) }
        for id in 1...6 {
            let complaint = try await run.complaint(Int64(id), within: .seconds(120))
            #expect(complaint.contains("more than 4 MiB") || complaint.contains("at once"), "\(complaint)")
        }
        #expect(try await run.finish())
    }

    @Test(.holds("223")) func `a stream that stays open after its answer costs no connection for long`()
        async throws
    {
        let server = try StreamingServer { request, peer in
            peer.beginStream()
            peer.event(#"{"jsonrpc":"2.0","id":\#(request.json?["id"]?.integer ?? 0),"result":"ok"}"#)
            peer.waitUntilLeft()
        }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        for id in 1...20 { run.send(#"{"jsonrpc":"2.0","id":\#(id),"method":"a"}"#) }
        for id in 1...20 { #expect(try await run.answer(Int64(id))["result"]?.string == "ok") }
        #expect(try await Polling.until(within: .seconds(30)) { server.connections == 0 })
        #expect(try await run.finish())
    }

    @Test(.holds("223")) func `more requests than there may be are refused, and the others go on`()
        async throws
    {
        let server = try StreamingServer { _, peer in peer.waitUntilLeft() }
        let run = try BridgeRun(to: "http://127.0.0.1:\(server.port)/mcp")
        for id in 1...257 { run.send(#"{"jsonrpc":"2.0","id":\#(id),"method":"a"}"#) }
        #expect(try await run.complaint(257).contains("256 requests in flight"))
        for id in 1...256 {
            run.send(#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":\#(id)}}"#)
        }
        #expect(try await run.finish())
        #expect(run.written.count == 1)
    }
}
