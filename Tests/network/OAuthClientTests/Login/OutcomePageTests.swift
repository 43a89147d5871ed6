// SPDX-License-Identifier: MIT

import Crypto
import NIOCore
import NIOEmbedded
import ServerSettings
import Synchronization
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// The page in the browser at the end of a login.
@Suite(.timeLimit(.minutes(5)))
struct OutcomePageTests {
    private static let done = LoginResultForBrowser(
        session: "work",
        account: "alice@example.com",
        server: "https://id.example"
    )

    private static func failed(_ message: String, remedy: Remedy? = nil) -> LoginResultForBrowser {
        LoginResultForBrowser(
            session: "work",
            server: "https://id.example",
            failure: LoginResultForBrowser.Failure(message: message, remedy: remedy)
        )
    }

    /// The address that the browser is taken to once the answer is taken.
    private func outcome(after query: String, at address: OpenedAddress) async throws -> String {
        let path = try #require(RawConnection.path(of: try await address.redirect(query)))
        #expect(path.hasPrefix("/outcome/") && !path.contains("?") && path.utf8.count >= 43)
        return path
    }

    @Test(.holds("93"), arguments: ["code=c0de", "error=access_denied&error_description=no"])
    func `the browser leaves the answer behind, and waits until the login has ended`(
        answer: String
    ) async throws {
        let waiting = try await WaitingListener()
        let (listener, address) = (waiting.listener, waiting.address)
        let path = try await outcome(after: "\(answer)&state=\(address.state)", at: address)
        _ = try await listener.response()
        listener.stayForOutcome()
        let request = LoopbackListenerTests.get(path, port: address.port)
        async let page = RawConnection.exchange(port: address.port, request)
        // The page is sent at the end of the login, even if the login ends before the request.
        listener.show(Self.done)
        let text = try await page
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("You are logged in"))
        for value in ["work", "alice@example.com", "https://id.example"] { #expect(text.contains(value)) }
        #expect(!text.contains("c0de") && !text.contains(address.state))
    }

    @Test(.holds("93")) func `nobody else on this machine finds the page`() async throws {
        let waiting = try await WaitingListener()
        let (listener, address) = (waiting.listener, waiting.address)
        let path = try await outcome(after: "code=c&state=\(address.state)", at: address)
        listener.show(Self.done)
        for guess in [
            "/outcome/", "/outcome", path + "x", String(path.dropLast()), path + "?x",
            "/outcome/\(RandomText.make())",
        ] {
            let page = try await RawConnection.rejection(
                port: address.port,
                LoopbackListenerTests.get(guess, port: address.port)
            )
            #expect(page.hasPrefix("HTTP/1.1 404 ") && !page.contains("alice"))
        }
        let foreign = try await RawConnection.exchange(
            port: address.port,
            LoopbackListenerTests.get(path, port: address.port, host: "evil.example")
        )
        #expect(foreign.hasPrefix("HTTP/1.1 400 ") && !foreign.contains("alice"))
        await listener.close()
    }

    @Test(.holds("93")) func `a browser that is sent here twice sees the outcome in the second page`()
        async throws
    {
        let waiting = try await WaitingListener()
        let (listener, address) = (waiting.listener, waiting.address)
        let path = try await outcome(after: "code=c&state=\(address.state)", at: address)
        _ = try await listener.response()
        listener.stayForOutcome()
        let request = LoopbackListenerTests.get(path, port: address.port)
        // The browser gives up the first request before it sends the second response.
        try await RawConnection.open(port: address.port, request).close()
        #expect(try await outcome(after: "code=c&state=\(address.state)", at: address) == path)
        async let page = RawConnection.exchange(port: address.port, request)
        listener.show(Self.done)
        #expect(try await page.contains("You are logged in"))
        await listener.waitUntilClosed()
    }

    @Test func `of two pages that wait, the first that is shown does not close the other`() throws {
        let loop = EmbeddedEventLoop()
        let coordinator = CallbackCoordinator(limits: LoopbackListener.Limits(), eventLoop: loop)
        coordinator.open(.standard(port: 1))
        coordinator.whenShown { coordinator.close() }
        let pages = try (0..<2).map { _ in
            let page = EmbeddedChannel(
                handler: CallbackConnectionHandler(coordinator: coordinator),
                loop: loop
            )
            try page.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            let request = LoopbackListenerTests.get(coordinator.outcomePath, port: 1)
            try page.writeInbound(ByteBuffer(string: request))
            return page
        }
        coordinator.end(Self.done)
        loop.run()
        for page in pages {
            let text = try page.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) }
            #expect(text?.contains("You are logged in") == true && !page.isActive)
        }
    }

    @Test func `a login that takes long leaves it to the terminal`() async throws {
        var limits = LoopbackListener.Limits()
        limits.outcome = .milliseconds(50)
        let waiting = try await WaitingListener(limits: limits)
        let path = try await outcome(after: "code=c&state=\(waiting.address.state)", at: waiting.address)
        let home = try #require(SessionName("home"))
        waiting.listener.stayForOutcome(of: home)
        let request = LoopbackListenerTests.get(path, port: waiting.address.port)
        let page = try await RawConnection.exchange(port: waiting.address.port, request)
        #expect(
            page.hasPrefix("HTTP/1.1 200 ") && page.contains("See the terminal")
                && !page.contains("logged in") && page.contains("<dd dir=\"auto\">home</dd>")
        )
        await waiting.listener.close()
    }

    @Test(.holds("O12")) func `the listener is gone once the page was shown, or a moment after the end`()
        async throws
    {
        for isShown in [true, false] {
            var limits = LoopbackListener.Limits()
            limits.shutdownTimeout = isShown ? .hours(1) : .milliseconds(50)
            let waiting = try await WaitingListener(limits: limits)
            let (listener, address) = (waiting.listener, waiting.address)
            let path = try await outcome(after: "code=c&state=\(address.state)", at: address)
            _ = try await listener.response()
            listener.stayForOutcome()
            listener.show(Self.done)
            if isShown {
                let request = LoopbackListenerTests.get(path, port: address.port)
                #expect(try await RawConnection.exchange(port: address.port, request).contains("logged in"))
            }
            await listener.waitUntilClosed()
        }
    }

    @Test func `a whole login shows its end, and the next one may have its port`() async throws {
        let port = try await LoopbackListener.open(.standard(port: 0), on: Wire.eventLoop)
        await port.close()
        var profile = ServerProfile.fixed()
        profile.authorization.redirect = .port(port.port)
        let bench = try Bench(profile, sleep: BrowserLoginTests.forEver)
        bench.exchange.always(
            try #require(profile.writtenTokenEndpoint),
            .json(#"{"error":"invalid_grant","error_description":"code already used"}"#, status: 400)
        )
        for _ in 0..<2 {
            let page = Mutex<Task<String, any Error>?>(nil)
            let person = ScriptedPerson(
                memory: bench.memory,
                whenTold: { step in
                    guard let address = OpenedAddress(step) else { return }
                    let task = Task {
                        let path = try await outcome(after: "code=c&state=\(address.state)", at: address)
                        return try await RawConnection.exchange(
                            port: address.port,
                            LoopbackListenerTests.get(path, port: address.port)
                        )
                    }
                    page.withLock { $0 = task }
                }
            )
            let result = await bench.server.logIn(LoginRequest(), conversation: person)
            let failure = try #require(result.failure, "\(result)")
            person.end(Self.failed(failure.message))
            let text = try await page.withLock { $0 }?.value ?? ""
            #expect(text.contains("The login failed") && text.contains("code already used"))
        }
    }

    // MARK: The document

    /// Returns the paragraphs of a page, and its command.
    private func advice(_ page: CallbackPage) -> [String] {
        let texts = page.response.matches(of: /<p>(.*?)<\/p>|<code>(.*?)<\/code>/)
        return texts.map { String($0.1 ?? $0.2 ?? "") }
    }

    /// The remedy of a failed login, and what its page says.
    @Test(
        arguments: [
            (nil, ["To try again, run:", "tokenctl login work"]),
            (.run("tokenctl login work"), ["Run:", "tokenctl login work"]),
            (.run("tokenctl unlock"), ["Run:", "tokenctl unlock &amp;&amp; tokenctl login work"]),
            (.set("dpop = true"), ["Set: dpop = true", "Then run:", "tokenctl login work"]),
            (
                .set("scopes of [session.work], then run tokenctl login work"),
                ["Set: scopes of [session.work]", "Then run:", "tokenctl login work"]
            ),
            (
                .set("a key, then run tokenctl reload"),
                ["Set: a key", "Then run:", "tokenctl reload &amp;&amp; tokenctl login work"]
            ),
            (.retry("in 30s"), ["Retry: in 30s", "Then run:", "tokenctl login work"]),
            (.see("tokenctl status work"), ["See: tokenctl status work"]),
        ] as [(Remedy?, [String])]
    )
    func `a failure names one way to another login, once`(remedy: Remedy?, said: [String]) {
        #expect(advice(CallbackPage(Self.failed("no", remedy: remedy))) == said)
    }

    @Test(arguments: [400, 404, 405, 413, 415, 431])
    func `a rejected request says what helps`(status: Int) {
        for error in [CallbackError.noAnswer, .otherLogin, .refused(status: status)] {
            let said = advice(CallbackPage(error)).joined(separator: " ")
            #expect(said.contains("tokenctl login") || said.contains("--paste"), "\(said)")
            #expect(CallbackError(target: error.path.utf8) == error)
        }
        #expect((CallbackError.refused(status: 405).text).contains("response_mode"))
    }

    @Test func `a failure says why, and what to do`() {
        let plain = CallbackPage(Self.failed("the server rejected the login: access_denied")).response
        let reason = "the server rejected the login: access_denied"
        #expect(plain.contains("<dt>Reason</dt><dd dir=\"auto\">\(reason)</dd>"))
        #expect(plain.contains("<code>tokenctl login work</code>") && plain.contains("id.example"))
        #expect(!plain.contains("Account") && plain.contains("class=\"bad\""))
        let command = CallbackPage(Self.failed("the agent is locked", remedy: .run("tokenctl unlock")))
            .response
        #expect(command.contains("<code>tokenctl unlock &amp;&amp; tokenctl login work</code>"))
    }

    @Test(.holds("93")) func `text of a server is nothing but text`() {
        let evil = "</p><script>alert(1)</script><img src=x onerror=\"y\">'&\u{0}"
        let page = CallbackPage(
            LoginResultForBrowser(
                session: evil,
                account: evil,
                server: evil,
                failure: .init(message: evil, remedy: .set(evil))
            )
        )
        .response
        #expect(!page.contains("<script") && !page.contains("<img") && page.contains("&lt;script&gt;"))
        #expect(!page.contains("onerror=\"y\""))
    }

    @Test(.holds("93")) func `the page runs nothing, loads nothing, and has no style but its own`() throws {
        let pages = [
            CallbackPage(Self.done), CallbackPage(Self.failed("x")), .unfinished(of: nil),
            CallbackPage(.noAnswer), CallbackPage(.refused(status: 431)),
        ]
        for page in pages.map(\.response) {
            let style = try #require(page.firstMatch(of: /<style>([\s\S]*)<\/style>/)?.1)
            let digest = Base64.encoded(SHA256.hash(data: Array(style.utf8)))
            let policy =
                "Content-Security-Policy: default-src 'none'; style-src 'sha256-\(digest)'; base-uri 'none'"
            #expect(page.contains(policy))
            for word in ["<script", "http-equiv", "src=", "href=", "url(", "@import", " style="] {
                #expect(!page.contains(word), "\(word)")
            }
            #expect(page.contains("prefers-color-scheme:dark") && page.contains("width=device-width"))
            for field in ["Referrer-Policy: no-referrer", "Cache-Control: no-store"] {
                #expect(page.contains("\r\n\(field)\r\n"))
            }
            let length = try #require(page.firstMatch(of: /Content-Length: (\d+)/)?.1)
            #expect(
                Int(length) == page[(try #require(page.firstRange(of: "\r\n\r\n"))).upperBound...].utf8.count
            )
        }
    }
}
