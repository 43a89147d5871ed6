// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenProxy

/// The parsing of clients' requests, and the rejection of requests that two parsers might read differently.
@Suite struct RequestTests {
    static func request(_ text: String) throws -> ProxiedRequest {
        let bytes = Array(
            text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n").utf8
        )
        do {
            return try ProxiedRequest(MessageHead(bytes))
        } catch let problem as HTTPHeadError {
            throw ForwardingError(problem)
        }
    }

    private static func status(_ text: String) -> Int? {
        do {
            _ = try request(text)
            return nil
        } catch {
            return (error as? ForwardingError)?.status
        }
    }

    @Test(
        .holds("231"),
        arguments: [
            // Two lengths (RFC 9112 §6.3).
            ("POST / HTTP/1.1\nHost: h\nContent-Length: 5\nTransfer-Encoding: chunked", 400),
            ("POST / HTTP/1.1\nHost: h\nContent-Length: 5\nContent-Length: 6", 400),
            ("POST / HTTP/1.1\nHost: h\nContent-Length: 5\nContent-Length: 5", 400),
            ("POST / HTTP/1.1\nHost: h\nContent-Length: 5, 5", 400),
            ("POST / HTTP/1.1\nHost: h\nContent-Length: +5", 400),
            ("POST / HTTP/1.1\nHost: h\nContent-Length: -1", 400),
            ("POST / HTTP/1.1\nHost: h\nContent-Length: 0x5", 400),
            ("POST / HTTP/1.1\nHost: h\nContent-Length: ", 400),
            ("POST / HTTP/1.1\nHost: h\nContent-Length: 99999999999999999999", 400),
            ("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked", 400),
            ("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\nTransfer-Encoding: identity", 400),
            ("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: gzip, chunked", 501),
            ("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: xchunked", 501),
            ("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked, identity", 501),
            ("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: \u{0B}chunked", 400),
            ("POST / HTTP/1.0\nHost: h\nTransfer-Encoding: chunked", 400),
            ("POST / HTTP/1.1\nHost: h\nTransfer-Encoding : chunked", 400),
            ("POST / HTTP/1.1\nHost: h\n Transfer-Encoding: chunked", 400),
            ("POST / HTTP/1.1\nHost: h\nX: a\n b", 400), ("POST / HTTP/1.1\nHost: h\nX", 400),
            ("POST / HTTP/1.1\nHost: h\n: x", 400), ("POST / HTTP/1.1\nHost: h\nX: a\u{0}b", 400),
            // Not one host.
            ("GET / HTTP/1.1", 400), ("GET / HTTP/1.1\nHost: a\nHost: a", 400),
            ("GET / HTTP/1.1\nHost: ", 400),
            ("GET / HTTP/1.1\nHost: a/b", 400), ("GET / HTTP/1.1\nHost: u@h", 400),
            ("GET / HTTP/1.1\nHost: a, b", 400),
            // Not a path.
            ("GET http://h/ HTTP/1.1\nHost: h", 400), ("GET * HTTP/1.1\nHost: h", 400),
            ("OPTIONS * HTTP/1.1\nHost: h", 400),
            ("CONNECT h:443 HTTP/1.1\nHost: h", 405), ("TRACE / HTTP/1.1\nHost: h", 405),
            ("trace / HTTP/1.1\nHost: h", 405), ("Connect h:443 HTTP/1.1\nHost: h", 405),
            ("tRaCk / HTTP/1.1\nHost: h", 405),
            ("GET h HTTP/1.1\nHost: h", 400),
            ("GET / HTTP/1.1 \nHost: h", 400), ("GET  / HTTP/1.1\nHost: h", 400),
            ("GET /#x HTTP/1.1\nHost: h", 400),
            ("GET /é HTTP/1.1\nHost: h", 400), ("G(T / HTTP/1.1\nHost: h", 400),
            // Not our protocol.
            ("PRI * HTTP/2.0", 505), ("GET / HTTP/2.0\nHost: h", 505), ("GET / HTTP/0.9\nHost: h", 505),
            ("GET /", 400),
            ("GET / HTTP/1.2\nHost: h", 505), ("GET / http/1.1\nHost: h", 400),
            ("POST / HTTP/1.1\nHost: h\nExpect: 200-ok", 417),
            ("POST / HTTP/1.1\nHost: h\nExpect: 100-continue, x", 417),
        ]
    )
    func `what two readers might read differently is refused`(text: String, status: Int) {
        #expect(Self.status(text) == status, "\(text)")
    }

    @Test func `a head with too many fields is too large, however short they are`() {
        let most = String(repeating: "\nX: 1", count: MessageHead.maximumFields - 1)
        #expect(Self.status("GET / HTTP/1.1\nHost: h\(most)") == nil)
        #expect(Self.status("GET / HTTP/1.1\nHost: h\(most)\nX: 1") == 431)
    }

    @Test func `the parts of a request are those that were written`() throws {
        let request = try Self.request(
            "PUT /a%20b?x=/../y HTTP/1.1\nHost: h:1\nContent-Length: 7\nX-Y:  a b \nconnection: Close"
        )
        #expect(request.method.text == "PUT" && request.target.text == "/a%20b?x=/../y")
        #expect(request.path.text == "/a%20b" && request.query?.text == "x=/../y")
        #expect(request.framing == .length(7) && request.host?.text == "h:1" && !request.keepsAlive)
        #expect(request.only("x-y")?.text == "a b")
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\nHost: h", true), ("GET / HTTP/1.0", false),
        ("GET / HTTP/1.0\nConnection: keep-alive", true),
        ("GET / HTTP/1.1\nHost: h\nConnection: x, close", false),
    ])
    func `a connection stays open as its version says`(text: String, keepsAlive: Bool) throws {
        #expect(try Self.request(text).keepsAlive == keepsAlive)
    }

    @Test(arguments: [
        ("GET", "websocket", "Upgrade", true), ("GET", "WebSocket", "keep-alive, upgrade", true),
        ("GET", "h2c", "Upgrade, HTTP2-Settings", false), ("GET", "websocket, h2c", "Upgrade", false),
        ("POST", "websocket", "Upgrade", false), ("GET", "websocket", "close", false),
        ("GET", "TLS/1.0", "upgrade", false),
    ])
    func `only a websocket is an upgrade`(
        method: String,
        upgrade: String,
        connection: String,
        isOne: Bool
    ) throws {
        let text = "\(method) / HTTP/1.1\nHost: h\nUpgrade: \(upgrade)\nConnection: \(connection)"
        #expect(try Self.request(text).wantsWebSocket == isOne)
    }

    @Test func `a head is found however it was cut, and is not endless`() throws {
        let text = "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\nrest"
        for cut in 1..<text.utf8.count {
            var search = HeadSearch(longest: 64)
            var input = ByteBufferText(text.utf8.prefix(cut))
            var found = try search.take(from: &input.buffer)
            if found == nil {
                input.append(text.utf8.dropFirst(cut))
                found = try search.take(from: &input.buffer)
            }
            #expect(found.map { String(decoding: $0, as: UTF8.self) } == "GET / HTTP/1.1\r\nHost: h")
        }
        var search = HeadSearch(longest: 64)
        var endless = ByteBufferText(String(repeating: "a", count: 65).utf8)
        #expect(throws: ForwardingError.self) { try search.take(from: &endless.buffer) }
    }

    @Test(arguments: ["\nGET /", "GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\r\nHost: h\n", "\r\nG\n"])
    func `a head whose lines end otherwise is refused as soon as one has`(text: String) {
        for cut in 0..<text.utf8.count {
            var search = HeadSearch(longest: 64)
            var input = ByteBufferText(text.utf8.prefix(cut))
            #expect(throws: ForwardingError.self) {
                _ = try search.take(from: &input.buffer)
                input.append(text.utf8.dropFirst(cut))
                _ = try search.take(from: &input.buffer)
            }
        }
    }
}
