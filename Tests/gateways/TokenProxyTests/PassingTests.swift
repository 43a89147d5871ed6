// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import TestSupport
import Testing

@testable import TokenProxy

/// Requests forwarded to the upstream, and responses forwarded to the client.
@Suite struct PassingTests {
    private static func rules(
        _ upstream: String = "https://api.example.com",
        paths: [String]? = nil,
        methods: [String]? = nil
    ) throws -> ProxyRules {
        let message = ProxyListenerMessage {
            $0.upstream = upstream
            $0.paths = paths
            $0.methods = methods
        }
        return try #require(ProxyRules(message))
    }

    private static func passed(_ request: String, _ rules: ProxyRules) throws -> [String] {
        let request = try RequestTests.request(request)
        let head = try ForwardedRequest(request: request, rules: rules).head(
            authorization: "Bearer T",
            proof: nil
        )
        return String(buffer: head).split(separator: "\r\n", omittingEmptySubsequences: true).map(String.init)
    }

    @Test(
        .holds("230"),
        arguments: [
            "Authorization: Basic eA==", "authorization: Bearer mine", "Proxy-Authorization: x",
            "DPoP: proof",
            "Forwarded: for=x",
            "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: evil", "x-forwarded-proto: http",
            "Keep-Alive: timeout=5",
            "Proxy-Connection: keep-alive", "Connection: X-Secret\nX-Secret: 1", "Connection: Authorization",
            "TE: gzip",
            "Upgrade: h2c\nConnection: Upgrade, HTTP2-Settings\nHTTP2-Settings: AAMAAABk",
            "Connection: host, content-length",
        ]
    )
    func `what is about the client's own connection or rights stays here`(fields: String) throws {
        let lines = try Self.passed("GET /x HTTP/1.1\nHost: 127.0.0.1:1\n\(fields)", Self.rules())
        #expect(lines == ["GET /x HTTP/1.1", "Host: api.example.com", "Authorization: Bearer T"])
    }

    @Test(.holds("230")) func `everything else goes on as it was written`() throws {
        let fields = "Cookie: a=b\nX-A: 1\nx-a: 2\nAccept: */*\nRange: bytes=0-1\nIf-None-Match: \"x\""
        let lines = try Self.passed(
            "POST /a%2Fb?q=%2e HTTP/1.1\nHost: h\n\(fields)\nContent-Length: 3",
            Self.rules()
        )
        #expect(lines.first == "POST /a%2Fb?q=%2e HTTP/1.1")
        #expect(Array(lines[2..<8]) == fields.split(separator: "\n").map(String.init))
        #expect(lines.last == "Content-Length: 3")
    }

    @Test
    func `fields that frameworks take for another path or method stay here where there are rules`()
        throws
    {
        let fields = [
            "X-Original-URL: /admin", "X_Original_URL: /admin", "x-original-uri: /admin",
            "X-Rewrite-URL: /admin",
            "X-HTTP-Method-Override: DELETE", "X_HTTP_Method_Override: DELETE", "X-Method_Override: DELETE",
        ]
        let request = "GET /v1/x HTTP/1.1\nHost: h\n" + fields.joined(separator: "\n")
        let rules = try Self.rules(paths: ["/v1/*"], methods: ["GET"])
        #expect(try Self.passed(request, rules).count == 3)
        #expect(try Self.passed(request, Self.rules()).count == 3 + fields.count)
        #expect(try Self.passed(request + "\nX_Forwarded_For: 9", rules).count == 3)
    }

    @Test func `a websocket and trailers are asked for in our own name`() throws {
        let socket = try Self.passed(
            "GET / HTTP/1.1\nHost: h\nUpgrade: websocket\nConnection: Upgrade",
            Self.rules()
        )
        #expect(socket.suffix(2) == ["Connection: Upgrade", "Upgrade: websocket"])
        let trailers = try Self.passed(
            "GET / HTTP/1.1\nHost: h\nTE: trailers, deflate\nConnection: TE",
            Self.rules()
        )
        #expect(trailers.suffix(2) == ["Connection: TE", "TE: trailers"])
    }

    @Test(
        .holds("231"),
        arguments: [
            ("http://127.0.0.1:1/dav/b", "https://api.example.com/base/dav/b"),
            ("/dav/b", "https://api.example.com/base/dav/b"),
            ("http://evil.example/dav/b", nil), ("https://api.example.com/base/b", nil), ("//evil/x", nil),
            ("http://127.0.0.1:1/dav/../x", nil), ("http://127.0.0.1:1@evil/x", nil),
            ("http://127.0.0.1:1", nil),
            ("/other", nil),
        ] as [(String, String?)]
    )
    func `a destination is an address of the listener`(given: String, sent: String?) throws {
        let rules = try Self.rules("https://api.example.com/base/", paths: ["/dav/*"])
        let request = "MOVE /dav/a HTTP/1.1\nHost: 127.0.0.1:1\nDestination: \(given)"
        guard let sent else {
            #expect(throws: ForwardingError.self) { try Self.passed(request, rules) }
            return
        }
        #expect(try Self.passed(request, rules).contains("Destination: \(sent)"))
    }

    @Test(arguments: [
        ("https://api.example.com/base/x?y", "http://127.0.0.1:1/x?y"),
        ("https://API.example.com/base", "http://127.0.0.1:1/"),
        ("https://api.example.com/other", "https://api.example.com/other"), ("/base/x", "/x"),
        ("/other", "https://api.example.com/other"), ("/based", "https://api.example.com/based"),
        ("https://api.example.com/base#f", "http://127.0.0.1:1/#f"), ("/base#f", "/#f"),
        ("/base/x#f", "/x#f"), ("/base//evil.org/x", "http://127.0.0.1:1//evil.org/x"),
        ("/base/../other", "https://api.example.com/base/../other"),
        ("https://api.example.com/base/%2e%2e/x", "https://api.example.com/base/%2e%2e/x"),
        ("https://api.example.com.evil.org/base/x", "https://api.example.com.evil.org/base/x"),
        ("https://api.example.com@evil.org/base/x", "https://api.example.com@evil.org/base/x"),
        ("https://login.example.com/", "https://login.example.com/"), ("x", "x"),
        ("//api.example.com/base/x?y", "http://127.0.0.1:1/x?y"),
        ("//API.example.com/base", "http://127.0.0.1:1/"),
        ("//api.example.com/other", "//api.example.com/other"), ("//evil.org/base", "//evil.org/base"),
        ("//api.example.com.evil.org/base", "//api.example.com.evil.org/base"),
        ("//api.example.com@evil.org/base", "//api.example.com@evil.org/base"),
    ])
    func `addresses of the upstream become addresses of the listener`(given: String, shown: String) throws {
        let lines = try Self.answered(
            "HTTP/1.1 302 Found\nLocation: \(given)\nContent-Length: 0",
            "https://api.example.com/base"
        )
        #expect(lines.contains("Location: \(shown)"), "\(lines)")
    }

    private static func answered(
        _ answer: String,
        _ upstream: String = "https://api.example.com",
        to request: String = "GET / HTTP/1.1\nHost: 127.0.0.1:1",
        keepsAlive: Bool = true
    ) throws -> [String] {
        let bytes = answer.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
        let head = try MessageHead(Array(bytes.utf8))
        let request = try RequestTests.request(request)
        let passed = ForwardedResponse(
            answer: try UpstreamResponse(head, toHead: request.isHead),
            request: request,
            rules: try rules(upstream),
            authority: Array("127.0.0.1:1".utf8)[...]
        )
        return String(buffer: passed.head(keepsAlive: keepsAlive)).split(separator: "\r\n").map(String.init)
    }

    @Test func `an answer is framed for the client's own connection`() throws {
        let open = "HTTP/1.1 200 OK\nX: 1\nConnection: close, X-Hop\nX-Hop: 1\nKeep-Alive: x\nDPoP-Nonce: n"
        let chunked = try Self.answered(open)
        #expect(chunked == ["HTTP/1.1 200 OK", "X: 1", "Transfer-Encoding: chunked"])
        let old = "GET / HTTP/1.0\nConnection: keep-alive"
        let closed = try Self.answered(open, to: old, keepsAlive: false)
        #expect(closed == ["HTTP/1.1 200 OK", "X: 1", "Connection: close"])
        let counted = try Self.answered("HTTP/1.1 200 OK\nContent-Length: 3", to: old)
        #expect(counted == ["HTTP/1.1 200 OK", "Content-Length: 3", "Connection: keep-alive"])
        let head = try Self.answered("HTTP/1.1 200 OK\nContent-Length: 3", to: "HEAD / HTTP/1.1\nHost: h")
        #expect(head == ["HTTP/1.1 200 OK", "Content-Length: 3"])
    }

    @Test(
        .holds("232"),
        arguments: [
            "HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 1",
            "HTTP/1.1 200 OK\nContent-Length: 1\nTransfer-Encoding: chunked",
            "HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked",
            "HTTP/1.0 200 OK\nTransfer-Encoding: chunked",
            "HTTP/2 200",
            "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 099 OK", "ICY 200 OK", "HTTP/1.1 200OK",
            "HTTP/1.1 200 OK\nContent-Length: x",
        ]
    )
    func `an answer that two readers might read differently goes no further`(text: String) throws {
        let head = try MessageHead(Array(text.split(separator: "\n").joined(separator: "\r\n").utf8))
        #expect(throws: ForwardingError.self) { try UpstreamResponse(head, toHead: false) }
    }

    @Test(arguments: [
        ("/run/x.sock", true), ("127.0.0.1:0", true), ("127.0.0.1:8080", true), ("[::1]:8080", true),
        ("127.1.2.3:1", true),
        ("0.0.0.0:80", false), ("[::]:80", false), ("10.0.0.1:80", false), ("localhost:80", false),
        ("127.0.0.1", false),
        ("127.0.0.1:65536", false), ("127.0.0.1:-1", false), ("example.com:80", false), (":80", false),
        ("", false),
    ])
    func `a listener is on this machine alone`(text: String, isOne: Bool) {
        #expect((ListenAddress(text) != nil) == isOne)
    }

    @Test func `two tables are the same only if all that matters is`() {
        let table = ProxyListenerMessage {
            $0.name = "api"
            $0.kind = .proxy
            $0.listen = "127.0.0.1:1"
            $0.session = "work"
            $0.upstream = "https://a"
        }
        var other = table
        other.authorities = "PEM"
        other.secret = "s"
        other.isConfigured = true
        #expect(other.identity == table.identity)
        let changes: [(inout ProxyListenerMessage) -> Void] = [
            { $0.upstream = "https://b" }, { $0.paths = ["/"] },
        ]
        for change in changes {
            var changed = table
            change(&changed)
            #expect(changed.identity != table.identity)
        }
    }
}
