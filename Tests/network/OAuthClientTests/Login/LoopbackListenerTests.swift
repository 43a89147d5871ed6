// SPDX-License-Identifier: MIT

import NIOCore
import NIOEmbedded
import NIOPosix
import ServerSettings
import Synchronization
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

/// Attacks on the redirect listener; after each the login still completes.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct LoopbackListenerTests {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    /// Runs `attack` against a waiting listener, then lets the real redirect arrive, however busy the machine is.
    func survive(
        limits: LoopbackListener.Limits = LoopbackListener.Limits(perConnection: .hours(1)),
        _ attack: (OpenedAddress) async throws -> Void
    ) async throws {
        let waiting = try await WaitingListener(limits: limits)
        let (listener, address) = (waiting.listener, waiting.address)
        try await attack(address)
        let page = try await address.redirect("code=good&state=\(address.state)")
        #expect(page.hasPrefix("HTTP/1.1 303 See Other\r\n"))
        #expect(try await listener.response() == .code("good"))
        await listener.close()
    }

    static func get(_ target: String, port: Int, host: String? = nil, method: String = "GET") -> String {
        "\(method) \(target) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n\r\n"
    }

    /// Request targets and their status; `S` stands for our state.
    @Test(
        .holds("90", "91", "O5", "O10"),
        arguments: [
            ("/callback?error=x", 400), ("/callback?code=evil", 400), ("/callback?code=evil&state=", 400),
            ("/callback?code=evil&state=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 400),
            ("/callback?code=evil&state=S&state=S", 400),
            ("/callback?code=evil&state=Sx", 400), ("/callback?code=%ZZ&state=%53", 400),
            ("/callback", 400), ("/callback?", 400), ("/favicon.ico", 404), ("/", 404),
            ("/callback/?state=S", 404),
            ("/Callback?state=S", 404), ("//callback?state=S", 404),
            ("http://127.0.0.1/callback?state=S", 404),
            ("/callback%3Fstate=S", 404), ("*", 404),
        ]
    )
    func `a request without our state changes nothing`(target: String, status: Int) async throws {
        try await survive { address in
            let target = target.split(separator: "=S", omittingEmptySubsequences: false)
                .joined(separator: "=" + address.state)
            let request = LoopbackListenerTests.get(target, port: address.port)
            let page = try await RawConnection.rejection(port: address.port, request)
            #expect(page.hasPrefix("HTTP/1.1 \(status) "))
            // Its address would stay in the browser.
            let first = try await RawConnection.exchange(port: address.port, request)
            let mayHoldCode = target.contains("?") || target == "/callback"
            #expect((RawConnection.path(of: first) != nil) == mayHoldCode, "\(first)")
            #expect(!first.contains("evil") && !first.contains(address.state))
        }
    }

    /// Requests of browsers, and what comes before and after them; `S` stands for our state and `P` for the port.
    @Test(
        .holds("90"),
        arguments: [
            // A parameter without a value counts as omitted (RFC 6749 §3.1).
            "GET /callback?error=&error_description=&code=good&state=S HTTP/1.1\r\nHost: 127.0.0.1:P\r\n\r\n",
            // A browser that fetches the page before the user goes there.
            "GET /callback?code=good&state=S HTTP/1.1\r\nHost: 127.0.0.1:P\r\n"
                + "Sec-Purpose: prefetch;prerender\r\nPurpose: prefetch\r\n\r\n",
            "GET /callback?code=good&state=S HTTP/1.1\r\nHost: 127.0.0.1:P\r\n\r\n"
                + "GET /favicon.ico HTTP/1.1\r\nHost: 127.0.0.1:P\r\n\r\n",
            "GET /callback?state=S&session_state=x.y&code=good&scope=a+b&authuser=0&prompt=none HTTP/1.0\r\n"
                + "host:127.0.0.1:P\r\nX-Empty:\r\n\r\n",
            "GET /callback?&code=good&&state=S& HTTP/1.1\r\nHost: 127.0.0.1:P\r\n"
                + "Content-Length: 0\r\n\r\n",
        ]
    )
    func `the redirect is taken whatever a browser does around it`(request: String) async throws {
        let waiting = try await WaitingListener()
        let (listener, address) = (waiting.listener, waiting.address)
        let text = request.replacing("=S", with: "=\(address.state)").replacing(
            ":P",
            with: ":\(address.port)"
        )
        let page = try await RawConnection.exchange(port: address.port, text)
        #expect(RawConnection.path(of: page)?.hasPrefix("/outcome/") == true, "\(page)")
        #expect(try await listener.response() == .code("good"))
        // The user goes to the page that was fetched before.
        let again = try await address.redirect("code=good&state=\(address.state)")
        #expect(RawConnection.path(of: again) == RawConnection.path(of: page))
        await listener.close()
    }

    @Test(.holds("93"), arguments: ["code=%ZZ&state=S", "code=%FF&state=S", "code=a&state=S&x=%"])
    func `a response of this login that cannot be read is the end of it`(query: String) async throws {
        let waiting = try await WaitingListener()
        let (listener, address) = (waiting.listener, waiting.address)
        let page = try await address.redirect(query.replacing("=S", with: "=" + address.state))
        #expect(RawConnection.path(of: page)?.hasPrefix("/outcome/") == true, "\(page)")
        #expect(try await listener.response() == .malformed)
        await listener.close()
    }

    @Test(.holds("93")) func `the page of a rejected request is there for any Host, and leads nowhere`()
        async throws
    {
        try await survive { address in
            for name in ["evil.example", "localhost:\(address.port)"] {
                let request = LoopbackListenerTests.get("/callback?code=evil", port: address.port, host: name)
                let page = try await RawConnection.exchange(port: address.port, request)
                let path = try #require(RawConnection.path(of: page))
                let next = LoopbackListenerTests.get(path, port: address.port, host: name)
                let shown = try await RawConnection.exchange(port: address.port, next)
                #expect(shown.hasPrefix("HTTP/1.1 400 ") && shown.contains("Not a login"), "\(shown)")
            }
        }
    }

    @Test(.holds("91"), arguments: ["POST", "HEAD", "PUT", "OPTIONS", "get", "CONNECT"])
    func `only GET is answered`(method: String) async throws {
        try await survive { address in
            let request = LoopbackListenerTests.get(
                "/callback?code=evil&state=\(address.state)",
                port: address.port,
                method: method
            )
            let page = try await RawConnection.rejection(port: address.port, request)
            #expect(page.hasPrefix("HTTP/1.1 405 "))
        }
    }

    /// `P` stands for our port.
    @Test(
        .holds("92"),
        arguments: [
            "Host: evil.example", "Host: localhost:P", "Host: [::1]:P", "Host: 127.0.0.1",
            "Host: 127.0.0.1:1",
            "Host: 127.0.0.1:P0",
            "Host: 127.0.0.1:P\r\nHost: 127.0.0.1:P", "X-Host: 127.0.0.1:P", "Host:", "Host: 127.0.0.1:P x",
            "Host : 127.0.0.1:P",
            "Host: 127.0.0.1:P\r\nhost: evil.example",
        ]
    )
    func `another Host is refused, even with our state`(header: String) async throws {
        try await survive { address in
            let header = header.split(separator: "P", omittingEmptySubsequences: false).joined(
                separator: "\(address.port)"
            )
            let request = "GET /callback?code=evil&state=\(address.state) HTTP/1.1\r\n\(header)\r\n\r\n"
            let page = try await RawConnection.rejection(port: address.port, request)
            #expect(page.hasPrefix("HTTP/1.1 400 "))
        }
    }

    @Test(arguments: [
        "\r\n\r\n", "GET\r\n\r\n", "GET /callback?x\r\n\r\n",
        "GET /callback?x HTTP/2\r\nHost: 127.0.0.1:1\r\n\r\n",
        "\u{16}\u{3}\u{1}\r\n\r\n", "GET  /callback?x HTTP/1.1\r\n\r\n",
        "GET /callback?\u{0}\u{1B}[31m HTTP/1.1\r\n\r\n",
        "GET /callback?code=a\tb HTTP/1.1\r\nHost: 127.0.0.1:P\r\n\r\n",
    ])
    func `nonsense is refused`(request: String) async throws {
        try await survive { address in
            let request = request.split(separator: "P\r", omittingEmptySubsequences: false)
                .joined(separator: "\(address.port)\r")
            let page = try await RawConnection.rejection(port: address.port, request)
            #expect(page.hasPrefix("HTTP/1.1 400 "))
        }
    }

    @Test(.holds("90", "O5")) func `a state cannot be guessed`() throws {
        let uri = "http://127.0.0.1:1/callback"
        let transaction = AuthorizationTransaction(redirectURI: uri, issuer: nil, namesIssuer: false)
        let url = try EndpointURL("https://id.example/authorize")
        let address = try #require(OpenedAddress(.openURL(transaction.address(at: url, profile: .fixed()))))
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        #expect(address.state.count == 43)
        let guesses = TestEnvironment.isFull ? 1_000_000 : 5_000
        var taken = 0
        for _ in 0..<guesses {
            let guess = String(
                decoding: (0..<43).map { _ in alphabet[Int.random(in: 0..<64)] },
                as: UTF8.self
            )
            if transaction.accept("code=evil&state=\(guess)") != nil { taken += 1 }
        }
        #expect(taken == 0)
        #expect(transaction.accept("code=good&state=\(address.state)") == .code("good"))
        Attachment.record("\(guesses) guesses, \(taken) accepted", named: "figure")
    }

    @Test(.holds("95", "O12")) func `who holds the port on another address gets nothing`() async throws {
        var others: [LocalPort] = []
        try await survive { address in
            #expect(address.parameters["redirect_uri"] == "http://127.0.0.1:\(address.port)/callback")
            let port = try #require(UInt16(exactly: address.port))
            others.append(try LocalPort("127.0.0.2", port: port))
            // Not every machine has this address.
            if let other = try? LocalPort(onIPv6: port) { others.append(other) }
            for sharing in [false, true] {
                #expect(throws: SystemFailure.self) {
                    try LocalPort("127.0.0.1", port: port, sharing: sharing)
                }
            }
        }
        #expect(others.count == 1 + (File.exists("/proc/net/if_inet6") ? 1 : 0))
        #expect(others.allSatisfy { !$0.isAsked })
    }

    @Test(.holds("O12")) func `the port is open on 127·0·0·1 alone, and only while the login waits`()
        async throws
    {
        let listener = try await LoopbackListener.open(.standard(port: 0), on: eventLoop)
        let open = ListeningSocket.all(ofProcess: "self").filter { $0.port == listener.port }
        #expect(open.map(\.address) == ["0100007F"])
        await listener.close()
        // The kernel may give the number of the port away again at once; the socket is gone for good.
        #expect(Set(open).isDisjoint(with: ListeningSocket.all(ofProcess: "self")))
    }

    @Test(.holds("90", "O6")) func `a state is accepted once, and a repetition is led to the outcome`()
        async throws
    {
        let told = Mutex<[CallbackError]>([])
        let waiting = try await WaitingListener { problem in told.withLock { $0.append(problem) } }
        let (listener, address) = (waiting.listener, waiting.address)
        let first = try await address.redirect("code=first&state=\(address.state)")
        let again = try await address.redirect("code=second&state=\(address.state)")
        #expect(again == first)
        #expect(RawConnection.path(of: again)?.hasPrefix("/outcome/") == true)
        #expect(try await listener.response() == .code("first"))
        #expect(told.withLock { $0 } == [])
        await listener.close()
    }

    @Test(.holds("93", "O10", "O59"))
    func `nothing of a request is reflected, and the page can load nothing`() async throws {
        try await survive { address in
            for query in [
                "code=<script>alert(1)</script>&state=%22%3E<b>", "error=<img>&error_description='\">",
            ] {
                let target = "/callback?\(query)"
                let page = try await RawConnection.rejection(
                    port: address.port,
                    LoopbackListenerTests.get(target, port: address.port)
                )
                #expect(!page.contains("<script>") && !page.contains("alert") && !page.contains("<img>"))
                #expect(page.contains("Content-Security-Policy: default-src 'none'; style-src 'sha256-"))
                #expect(page.contains("Referrer-Policy: no-referrer\r\n"))
                #expect(page.contains("Cache-Control: no-store\r\n"))
                #expect(!page.contains("Location:"))
            }
        }
    }

    @Test(.holds("94")) func `a request larger than 64 KiB is refused`() async throws {
        #expect(CallbackRequest.headLimit == 64 << 10)
        try await survive { address in
            let long = "GET /callback?state=" + String(repeating: "x", count: CallbackRequest.headLimit)
            let page = try await RawConnection.rejection(port: address.port, long)
            #expect(page.isEmpty || page.hasPrefix("HTTP/1.1 431 "))
        }
    }

    @Test func `the longest header is read, wherever it is cut, and none that is longer`() {
        let place = LoopbackRedirect.standard(port: 5)
        let start = "GET /callback?code=c&state=s HTTP/1.1\r\nHost: 127.0.0.1:5\r\nCookie: "
        let room = CallbackRequest.headLimit - start.utf8.count
        let whole = Array((start + String(repeating: "c", count: room) + "\r\n\r\n").utf8)
        #expect(CallbackRequest(whole, to: place) == .callback("code=c&state=s"))
        for missing in [1, 2, 3, 4, 5, 1_000, whole.count] {
            #expect(CallbackRequest(whole.dropLast(missing), to: place) == .incomplete)
        }
        let longer = Array((start + String(repeating: "c", count: room + 1) + "\r\n\r\n").utf8)
        #expect(CallbackRequest(longer, to: place) == .refused(status: 431))
    }

    @Test(.holds("94")) func `the cookies of other servers on this machine do no harm`() async throws {
        let waiting = try await WaitingListener()
        let (listener, address) = (waiting.listener, waiting.address)
        let cookies = String(
            repeating: "Cookie: session=\(String(repeating: "c", count: 4_000))\r\n",
            count: 15
        )
        let request = LoopbackListenerTests.get(
            "/callback?code=good&state=\(address.state)",
            port: address.port
        )
        let page = try await RawConnection.exchange(
            port: address.port,
            String(request.dropLast()) + cookies + "\r\n"
        )
        #expect(page.hasPrefix("HTTP/1.1 303 "))
        #expect(try await listener.response() == .code("good"))
        await listener.close()
    }

    @Test(.holds("94")) func `what goes wrong is told once, and what is no attempt at a login is not`()
        async throws
    {
        let told = Mutex<[CallbackError]>([])
        let waiting = try await WaitingListener { problem in told.withLock { $0.append(problem) } }
        let (listener, address) = (waiting.listener, waiting.address)
        let long = "GET /callback?state=" + String(repeating: "x", count: CallbackRequest.headLimit)
        let requests = [
            LoopbackListenerTests.get("/favicon.ico", port: address.port),
            LoopbackListenerTests.get("/callback", port: address.port),
            LoopbackListenerTests.get("/callback?code=x&state=other", port: address.port),
            LoopbackListenerTests.get("/callback?code=x", port: address.port, host: "evil.example"), long,
        ]
        for request in requests + requests {
            _ = try await RawConnection.exchange(port: address.port, request)
        }
        #expect(
            told.withLock { $0 } == [.noAnswer, .otherLogin, .refused(status: 400), .refused(status: 431)]
        )
        await listener.close()
    }

    @Test(.holds("94")) func `connections that stall are closed and keep nobody out`() async throws {
        #expect(LoopbackListener.Limits().perConnection == .seconds(5))
        #expect(LoopbackListener.Limits().connections == 16)
        try await survive { address in
            var stalled: [any Channel] = []
            for _ in 0..<40 {
                stalled.append(try await RawConnection.stall(port: address.port, "GET /callback?code="))
            }
            // With every place taken the browser still gets through: the oldest connection makes room.
            let page = try await address.redirect("code=evil&state=wrong")
            #expect(RawConnection.path(of: page) == "/rejected/other")
            for channel in stalled.prefix(25) { try await RawConnection.end(of: channel) }
        }
    }

    @Test(.holds("94")) func `a request must be whole within five seconds, and trickling wins no time`()
        throws
    {
        let coordinator = CallbackCoordinator(
            limits: LoopbackListener.Limits(),
            eventLoop: EmbeddedEventLoop()
        )
        defer { coordinator.close() }
        let channel = EmbeddedChannel(handler: CallbackConnectionHandler(coordinator: coordinator))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(ByteBuffer(string: "GET /callback?code="))
        for _ in 0..<4 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            try channel.writeInbound(ByteBuffer(string: "x"))
        }
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(999))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(!channel.isActive)
    }

    @Test(.holds("90", "91")) func `a thousand guesses at once find nothing`() async throws {
        try await survive { address in
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<1_000 {
                    group.addTask { _ = try? await address.redirect("code=evil&state=\(number)") }
                }
            }
        }
    }

    @Test func `a request in pieces is put together`() async throws {
        try await survive { address in
            let channel = try await RawConnection.open(port: address.port, "GET /nothing HT")
            try await channel.writeAndFlush(ByteBuffer(string: "TP/1.1\r\nHost: 127.0.0.1:\(address.port)\r"))
                .get()
            try await channel.writeAndFlush(ByteBuffer(string: "\n\r\n")).get()
            try await RawConnection.end(of: channel)
        }
    }
}
