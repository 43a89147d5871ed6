// SPDX-License-Identifier: MIT

import NIOCore
import TestSupport
import Testing

@testable import AgentServer

struct RequestParserTests {
    static let golden: [(text: String, target: String, body: String)] = [
        ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n", "/v1", ""),
        ("\r\nGET /v1 HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n", "/v1", ""),
        ("POST /v1/lock HTTP/1.1\r\nHOST:\ttokenagent \r\nContent-Length: 2\r\n\r\n{}", "/v1/lock", "{}"),
        ("GET http://localhost/v1?a=b HTTP/1.0\r\nhost: LOCALHOST\r\n\r\n", "/v1?a=b", ""),
        ("GET HTTP://tokenagent HTTP/1.1\r\nHost: tokenagent\r\nX-Empty:\r\n\r\n", "/", ""),
        ("GET /v1 HTTP/1.1\r\nHost: TokenAgent\r\nSec-Fetch-Site: none\r\n\r\n", "/v1", ""),
        (
            "POST /a HTTP/1.1\r\nHost: tokenagent\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\nabc",
            "/a", "abc"
        ),
    ]

    @Test(arguments: golden.indices)
    func `a request is the same however its bytes arrive`(index: Int) throws {
        let (text, target, body) = Self.golden[index]
        let bytes = Array(text.utf8)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                var parser = RequestParser(limits: RequestLimits())
                let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]]
                let request = try Self.request(from: pieces, &parser)
                #expect(request?.head.address.target == target)
                #expect(request.map { String(decoding: $0.body, as: UTF8.self) } == body)
            }
        }
    }

    @Test(arguments: golden.indices, golden.indices)
    func `what came before on the connection changes nothing`(first: Int, second: Int) throws {
        // Heads of one length, which one byte tells apart.
        let text = Self.golden[second].text
        let variants = [text, text.replacing("/v1", with: "/v2")]
        for text in variants {
            var fresh = RequestParser(limits: RequestLimits())
            let alone = try Self.request(from: [Array(text.utf8)[...]], &fresh)
            var used = RequestParser(limits: RequestLimits())
            for before in [Self.golden[first].text, variants[0], variants[1]] {
                #expect(try Self.request(from: [Array(before.utf8)[...]], &used) != nil)
                #expect(try Self.request(from: [Array(text.utf8)[...]], &used) == alone)
            }
        }
    }

    @Test(arguments: [1, 2, 3, 64])
    func `one empty line may stand before a request, however it arrives, and no second`(size: Int) throws {
        var parser = RequestParser(limits: RequestLimits())
        let request = Array("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n".utf8)
        for _ in 0..<2 {
            let bytes = Array("\r\n".utf8) + request
            let pieces = stride(from: 0, to: bytes.count, by: size).map { bytes[$0...].prefix(size) }
            #expect(try Self.request(from: pieces, &parser)?.head.address.target == "/v1")
        }
        let bytes = Array("\r\n\r\n\r\n".utf8)
        let pieces = stride(from: 0, to: bytes.count, by: size).map { bytes[$0...].prefix(size) }
        #expect(throws: RequestError.malformed) { try Self.request(from: pieces, &parser) }
    }

    @Test func `requests sent together come out one by one`() throws {
        var parser = RequestParser(limits: RequestLimits())
        let texts = Self.golden.map(\.text).joined()
        var input = ByteBuffer(string: texts)
        for golden in Self.golden {
            var step = try parser.next(from: &input)
            if step == .wantsContinue { step = try parser.next(from: &input) }
            guard case .request(let request) = step else {
                Issue.record("\(step)")
                return
            }
            #expect(request.head.address.target == golden.target)
        }
        #expect(try parser.next(from: &input) == .needsMore)
    }

    @Test(
        .holds("8"),
        arguments: [
            ("GET /v1 HTTP/1.1\r\n\r\n", RequestError.wrongHost),
            ("GET /v1 HTTP/1.1\r\nHost:\r\n\r\n", .wrongHost),
            ("GET /v1 HTTP/1.1\r\nHost: evil.example\r\n\r\n", .wrongHost),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent.evil.example\r\n\r\n", .wrongHost),
            ("GET /v1 HTTP/1.1\r\nHost: to\u{212A}enagent\r\n\r\n", .wrongHost),
            ("GET /v1 HTTP/1.1\r\nHost: localho\u{17F}t\r\n\r\n", .wrongHost),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\u{200D}\r\n\r\n", .wrongHost),
            (
                "GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nExpect: 100-continue\u{301}\r\n\r\n",
                .unknownExpectation
            ),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nHost: tokenagent\r\n\r\n", .wrongHost),
            ("GET http://evil.example/v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n", .wrongHost),
            ("GET https://tokenagent/v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n", .malformed),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nOrigin: http://tokenagent\r\n\r\n", .fromBrowser),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nOrigin:\r\n\r\n", .fromBrowser),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nreferer: x\r\n\r\n", .fromBrowser),
            ("GET /v1 HTTP/1.1\r\nHost: evil\r\nOrigin: http://evil\r\n\r\n", .fromBrowser),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nSec-Fetch-Site: cross-site\r\n\r\n", .fromBrowser),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nsec-fetch-site: same-origin\r\n\r\n", .fromBrowser),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nSec-Fetch-Site: same-site\r\n\r\n", .fromBrowser),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nSec-Fetch-Site:\r\n\r\n", .fromBrowser),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nSec-Fetch-Site: none, none\r\n\r\n", .fromBrowser),
            (
                "GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: x\r\n\r\n",
                .fromBrowser
            ),
            ("POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nTransfer-Encoding: chunked\r\n\r\n", .chunkedBody),
            (
                "POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nTransfer-Encoding: x\r\nContent-Length: 1\r\n\r\n",
                .malformed
            ),
            (
                "POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
                .malformed
            ),
            ("POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 1, 1\r\n\r\n", .malformed),
            ("POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: -1\r\n\r\n", .malformed),
            ("POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: +1\r\n\r\n", .malformed),
            ("POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 0x1\r\n\r\n", .malformed),
            ("POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length:\r\n\r\n", .malformed),
            ("POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 65537\r\n\r\n", .bodyTooLong),
            (
                "POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 99999999999999999999\r\n\r\n",
                .bodyTooLong
            ),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\n folded\r\n\r\n", .malformed),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nX : y\r\n\r\n", .malformed),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\n: y\r\n\r\n", .malformed),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nno colon\r\n\r\n", .malformed),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nX: a\u{0}b\r\n\r\n", .malformed),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nX: a\rb\r\n\r\n", .malformed),
            ("GET /v1 HTTP/1.1\nHost: tokenagent\n\n", .malformed),
            ("GET  /v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n", .malformed),
            ("GET /v 1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n", .malformed),
            ("GET /v1#x HTTP/1.1\r\nHost: tokenagent\r\n\r\n", .malformed),
            ("GET /v1\u{7F} HTTP/1.1\r\nHost: tokenagent\r\n\r\n", .malformed),
            ("GET /vé HTTP/1.1\r\nHost: tokenagent\r\n\r\n", .malformed),
            ("GET v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n", .malformed),
            ("OPTIONS * HTTP/1.1\r\nHost: tokenagent\r\n\r\n", .malformed),
            ("CONNECT tokenagent:80 HTTP/1.1\r\nHost: tokenagent\r\n\r\n", .malformed),
            ("GE(T /v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n", .malformed),
            ("GET /v1\r\n\r\n", .malformed),
            ("GET /v1 http/1.1\r\nHost: tokenagent\r\n\r\n", .malformed),
            ("GET /v1 HTTP/2.0\r\nHost: tokenagent\r\n\r\n", .unsupportedVersion),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .unsupportedVersion),
            ("GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nExpect: coffee\r\n\r\n", .unknownExpectation),
            ("\u{16}\u{3}\u{1}\u{2}\n", .malformed),
        ]
    )
    func `what two readers might read differently is refused`(text: String, refusal: RequestError) {
        var parser = RequestParser(limits: RequestLimits())
        var input = ByteBuffer(string: text)
        #expect(throws: refusal) { try parser.next(from: &input) }
    }

    @Test(
        .holds("7"),
        arguments: [
            (4_096, 8_192, nil),
            (4_097, 100, RequestError.lineTooLong),
            (100, 8_193, .headersTooLong),
        ]
    )
    func `line and headers have exact limits`(line: Int, headers: Int, refusal: RequestError?) throws {
        let text = Self.request(lineCount: line, headersCount: headers)
        var parser = RequestParser(limits: RequestLimits())
        var input = ByteBuffer(string: text)
        guard let refusal else {
            guard case .request = try parser.next(from: &input) else {
                Issue.record("not read")
                return
            }
            return
        }
        #expect(throws: refusal) { try parser.next(from: &input) }
    }

    @Test(.holds("7")) func `a line or head that never ends is refused before its end`() {
        var parser = RequestParser(limits: RequestLimits())
        var line = ByteBuffer(repeating: UInt8(ascii: "a"), count: 4_098)
        #expect(throws: RequestError.lineTooLong) { try parser.next(from: &line) }
        parser = RequestParser(limits: RequestLimits())
        var head = ByteBuffer(string: "GET / HTTP/1.1\r\n" + String(repeating: "a: b\r\n", count: 3_000))
        #expect(throws: RequestError.headersTooLong) { try parser.next(from: &head) }
    }

    @Test(.holds("7")) func `a body of 65536 bytes is taken`() throws {
        var parser = RequestParser(limits: RequestLimits())
        var input = ByteBuffer(string: "POST / HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 65536\r\n\r\n")
        #expect(try parser.next(from: &input) == .needsMore)
        input.writeRepeatingByte(UInt8(ascii: "x"), count: 65_536)
        guard case .request(let request) = try parser.next(from: &input) else {
            Issue.record("not read")
            return
        }
        #expect(request.body.count == 65_536)
    }

    @Test(arguments: [
        ("1.1", "", true), ("1.1", "Connection: close\r\n", false),
        ("1.1", "Connection: foo, Close\r\n", false),
        ("1.0", "", false), ("1.0", "Connection: Keep-Alive\r\n", true),
        ("1.0", "Connection: keep-alive, close\r\n", false),
        ("1.0", "Connection: \u{212A}eep-alive\r\n", false), ("1.1", "Connection: clo\u{17F}e\r\n", true),
    ])
    func `the connection stays open as HTTP says`(version: String, field: String, stays: Bool) throws {
        let text = "GET /v1 HTTP/\(version)\r\nHost: tokenagent\r\n\(field)\r\n"
        var parser = RequestParser(limits: RequestLimits())
        let request = try Self.request(from: [Array(text.utf8)[...]], &parser)
        #expect(request?.head.keepsAlive == stays)
    }

    @Test(arguments: [
        ("text/plain", true), ("TEXT/PLAIN; q=1", true), ("text/*", true),
        ("text/html, text/plain, application/json", true),
        ("*/*", false), ("application/json, text/plain", false), ("text/html", false), ("", false),
        ("text/plain\u{301}", false), ("text/html,\u{301}text/plain", false), ("text/plain;\u{301}x", true),
    ])
    func `plain text is what Accept names first`(accept: String, isPlain: Bool) throws {
        let text = "GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nAccept: \(accept)\r\n\r\n"
        var parser = RequestParser(limits: RequestLimits())
        let request = try Self.request(from: [Array(text.utf8)[...]], &parser)
        #expect(request?.head.prefersPlainText == isPlain)
    }

    @Test(.holds("8")) func `random bytes are refused or wait, never crash`() {
        var random = SystemRandomNumberGenerator()
        let words = [
            "GET ", "/v1", " HTTP/1.1\r\n", "Host: tokenagent\r\n", "\r\n", ":", "\n", "\r", "\u{0}", "é",
        ]
        for _ in 0..<5_000 {
            var parser = RequestParser(limits: RequestLimits())
            var input = ByteBuffer()
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                input.writeString(words.randomElement(using: &random) ?? "")
                guard let step = try? parser.next(from: &input) else { break }
                if case .request(let request) = step { #expect(request.head.address.target.hasPrefix("/")) }
            }
        }
    }

    private static func request(
        from pieces: [ArraySlice<UInt8>],
        _ parser: inout RequestParser
    ) throws -> HTTPRequest? {
        var input = ByteBuffer()
        for piece in pieces {
            input.writeBytes(piece)
            if case .request(let request) = try parser.next(from: &input) { return request }
        }
        // A head that waits for its body has been told so once.
        if case .request(let request) = try parser.next(from: &input) { return request }
        return nil
    }

    private static func request(lineCount: Int, headersCount: Int) -> String {
        let path = String(repeating: "a", count: lineCount - "GET / HTTP/1.1".count)
        let host = "Host: tokenagent\r\n"
        let filler = String(repeating: "b", count: headersCount - host.utf8.count - "X: \r\n".utf8.count)
        return "GET /\(path) HTTP/1.1\r\n\(host)X: \(filler)\r\n\r\n"
    }
}
