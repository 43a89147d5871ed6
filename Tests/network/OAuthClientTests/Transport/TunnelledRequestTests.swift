// SPDX-License-Identifier: MIT

import ForwardProxy
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Requests through a forward proxy, over real connections.
struct TunnelledRequestTests {
    @Test(.holds("88"), arguments: [(false, false), (false, true), (true, false), (true, true)])
    func `a request goes through the proxy, which sees nothing of it`(
        isTLS: Bool,
        isGuarded: Bool
    ) async throws {
        let bench = try await ProxyBench(isTLS: isTLS, isGuarded: isGuarded)
        let choice = try bench.choice(isTLS: isTLS)
        #expect(try await bench.send(bench.request(choice)).get().body == Array("{}".utf8))
        let sent = try #require(bench.server.requests.first)
        #expect(
            sent.hasPrefix("POST /token?x=1 HTTP/1.1\r\n") && sent.hasSuffix("\r\n\r\nrefresh_token=canary")
        )
        let target = "127.0.0.1:\(bench.server.port)"
        #expect(bench.proxy.requests == ["CONNECT \(target) HTTP/1.1\r\nHost: \(target)"])
        #expect(!bench.proxy.relayed.isEmpty && !bench.proxy.relayed.contains("canary"))
        await bench.end()
    }

    @Test func `a fetch goes through the proxy too, and knows that the server is a private one`() async throws
    {
        let bench = try await ProxyBench()
        let reply = try await bench.send(bench.request(bench.choice(), isPost: false)).get()
        #expect(reply.status == 200 && reply.isInternal)
        #expect(bench.server.requests.first?.hasPrefix("GET /token?x=1 HTTP/1.1\r\n") == true)
        #expect(bench.proxy.connections == 1)
        await bench.end()
    }

    @Test(.holds("88")) func `where a public server leads into a private network the proxy is not asked`()
        async throws
    {
        let bench = try await ProxyBench()
        let request = try bench.request(bench.choice(), publicAddressOnly: true)
        #expect(try await bench.send(request) == .failure(.internalAddress))
        #expect(bench.proxy.connections == 0 && bench.server.connections == 0)
        await bench.end()
    }

    @Test(.holds("88"))
    func `a proxy for all sessions is not for this machine, nor is one of the environment`()
        async throws
    {
        let bench = try await ProxyBench(variables: ["https_proxy": "http://127.0.0.1:1"])
        for choice in [try bench.choice(coversInternal: false), .environment, .direct] {
            #expect(try await bench.send(bench.request(choice)).get().status == 200)
        }
        #expect(bench.proxy.connections == 0 && bench.server.connections == 3)
        await bench.end()
    }

    @Test(.holds("88"))
    func `the environment's proxy is asked for a host by its name, unless the session says direct`()
        async throws
    {
        let bench = try await ProxyBench()
        let url = try EndpointURL("https://id.example/token")
        let text = "http://al:pa%3Ass@127.0.0.1:\(bench.proxy.port)"
        let transport = HTTPTransport(
            eventLoop: Wire.eventLoop,
            proxies: ProxyRoutes(ProxyVariables { $0 == "HTTPS_PROXY" ? text : nil })
        )
        bench.proxy.behave(.answerAndClose("HTTP/1.1 503 Busy\r\n\r\n"))
        let request = OutgoingRequest(url: url, form: FormBody([("a", "b")]), trust: ServerTrust())
        let failure = TransportFailure.proxy(
            .rejected(status: 503),
            try ForwardProxy("http://127.0.0.1:\(bench.proxy.port)")
        )
        #expect(await transport.outcome(of: request) == .failure(failure))
        let head = try #require(bench.proxy.requests.first)
        #expect(head.hasPrefix("CONNECT id.example:443 HTTP/1.1\r\nHost: id.example:443"))
        // al:pa:ss
        #expect(head.hasSuffix("\r\nProxy-Authorization: Basic YWw6cGE6c3M="))
        let direct = OutgoingRequest(
            url: url,
            form: FormBody([("a", "b")]),
            trust: ServerTrust(proxy: .direct)
        )
        guard case .failure(.unreachable) = await transport.outcome(of: direct) else {
            Issue.record("a name without a server was reached")
            return
        }
        #expect(bench.proxy.connections == 1)
        await transport.shutDown()
        await bench.end()
    }

    @Test func `a variable that is no proxy is said, not passed over`() async throws {
        let transport = HTTPTransport(
            eventLoop: Wire.eventLoop,
            proxies: ProxyRoutes(ProxyVariables { $0 == "HTTPS_PROXY" ? "socks5://127.0.0.1:1" : nil })
        )
        let url = try EndpointURL("https://id.example/token")
        let request = OutgoingRequest(url: url, form: FormBody([("a", "b")]), trust: ServerTrust())
        guard case .failure(.misconfigured(let message, _)) = await transport.outcome(of: request) else {
            Issue.record("a proxy that cannot be used was passed over")
            return
        }
        #expect(message.hasPrefix("HTTPS_PROXY "), "\(message)")
        await transport.shutDown()
    }

    @Test(.holds("88"), arguments: [false, true])
    func `credentials come from a file, and rejected ones are shown once`(isGuarded: Bool) async throws {
        let bench = try await ProxyBench(credentials: "al:secret", isGuarded: isGuarded)
        guard
            case .failure(.misconfigured(let message, let remedy)) = try await bench.send(
                bench.request(bench.choice())
            )
        else {
            Issue.record("a proxy that requires a login let a stranger in")
            return
        }
        #expect(message.contains("407"), "\(message)")
        #expect(remedy == .set("proxy_credentials_file to a file with USER:PASSWORD"))
        let file = try TemporaryFile("al:wrong\n")
        let choice = try bench.choice(.file(file.path))
        for _ in 0..<3 {
            guard case .failure(.misconfigured) = try await bench.send(bench.request(choice)) else {
                Issue.record("wrong credentials were accepted")
                return
            }
        }
        #expect(bench.proxy.connections == 2)
        let good = try TemporaryFile("al:secret\n")
        #expect(try await bench.send(bench.request(bench.choice(.file(good.path)))).get().status == 200)
        #expect(bench.server.connections == 1)
        await bench.end()
    }

    /// Refusals with all that corporate proxies add to them.
    @Test(
        .holds("88"),
        arguments: [
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Negotiate\r\n"
                + "Proxy-Authenticate: NTLM\r\nProxy-Authenticate:\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "5\r\nlogin\r\n0\r\n\r\n",
            "HTTP/1.0 407 Authentification n\u{E9}cessaire\r\nContent-Length: 9999\r\n\r\n<html>\n\n",
            "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 407\r\nConnection: keep-alive\r\n\r\n",
        ],
        [false, true]
    )
    func `a proxy that wants a login is understood however it says so`(
        reply: String,
        isGuarded: Bool
    ) async throws {
        let bench = try await ProxyBench(isGuarded: isGuarded)
        bench.proxy.behave(.answer(reply))
        let result = try await bench.send(bench.request(bench.choice()))
        guard case .failure(.misconfigured(let message, _)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(message.contains("407"), "\(message)")
        await bench.end()
    }

    @Test func `credentials come from a program, which is run once while they work`() async throws {
        let commands = ScriptedCommands(prints: "al:secret\n")
        let bench = try await ProxyBench(credentials: "al:secret", commands: commands)
        let choice = try bench.choice(.command(["/bin/print-it"]))
        for _ in 0..<2 { #expect(try await bench.send(bench.request(choice)).get().status == 200) }
        #expect(commands.commands.count == 1)
        await bench.end()
    }

    @Test(arguments: ["", "al", "al:se\u{1}cret", "al:secret\nX: y"])
    func `a file that holds no credentials is said`(content: String) async throws {
        let bench = try await ProxyBench(credentials: "al:secret")
        let file = try TemporaryFile(content)
        let failure = try await bench.failure(.file(file.path))
        #expect(failure?.kind == .helperFailed)
        #expect(failure?.message.contains("USER:PASSWORD") == true, "\(failure?.message ?? "")")
        #expect(bench.proxy.connections == 0)
        await bench.end()
    }

    @Test func `a file with credentials that is not there yet is read again`() async throws {
        let bench = try await ProxyBench(credentials: "al:secret")
        let directory = try TemporaryDirectory()
        let path = directory.path + "/credentials"
        let failure = try await bench.failure(.file(path))
        #expect(failure?.kind == .helperFailed)
        #expect(failure?.message.contains("proxy_credentials_file \(path): No such file") == true)
        try directory.write("al:secret\n", to: "credentials")
        #expect(try await bench.send(bench.request(bench.choice(.file(path)))).get().status == 200)
        await bench.end()
    }

    /// A keyring that is still locked, and a password that it rejects.
    @Test(
        arguments: [
            ("the keyring is locked", FailureClass.helperFailed),
            ("wrong passphrase", .credentialRejected),
        ]
    )
    func `a program that prints no credentials fails as any other`(
        complaint: String,
        kind: FailureClass
    ) async throws {
        let commands = ScriptedCommands(status: 1, complains: complaint)
        let bench = try await ProxyBench(credentials: "al:secret", commands: commands)
        let failure = try await bench.failure(.command(["/bin/print-it"]))
        #expect(failure?.kind == kind)
        #expect(failure?.message.contains("proxy_credentials_command: /bin/print-it") == true)
        #expect(bench.proxy.connections == 0)
        await bench.end()
    }

    /// The behavior of a proxy, and a part of the error message.
    private static let refusals: [(ConnectProxy.Behavior, String)] = [
        (.answerAndClose("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nno\r\n"), "status 403"),
        (.answerAndClose("HTTP/1.0 502 Bad Gateway\r\n\r\n"), "status 502"),
        (.answer("HTTP/1.1 302 Found\r\nLocation: http://login.example/\r\n\r\n"), "status 302"),
        (.answerAndClose(""), "closed the connection"),
        (.answerAndClose("HTTP/1.1 200 OK\r\n"), "closed the connection"),
        (.answer("HTTP/1.1 200 OK\r\n\r\nX"), "data after its response"),
        (.answer("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{}"), "data after its response"),
        (.answer("SSH-2.0-OpenSSH\r\n\r\n"), "is not HTTP"),
        (.answer("HTTP/1.1 200 OK\r\nno field\r\n\r\n"), "is not HTTP"),
        (.answer("HTTP/1.1 200 OK\r\n folded: x\r\n\r\n"), "is not HTTP"),
        (.answer("HTTP/1.1 2000 OK\r\n\r\n"), "is not HTTP"),
        (.answer("HTTP/1.1 2 0 OK\r\n\r\n"), "is not HTTP"),
        (.answer("HTTP/1.1 200 O\u{0}K\r\n\r\n"), "is not HTTP"),
        (.answer("HTTP/1.1 101 Switching Protocols\r\n\r\n"), "status 101"),
        (.answer("HTTP/1.1 999 X\r\n\r\n"), "status 999"),
        (.answer(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 100)), "status 100"),
        (.answer("HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 5_000)), "too long"),
        (.answer("HTTP/1.1 200 OK\r\nX: " + String(repeating: "y", count: 100_000)), "too long"),
        (.ignore, "timed out"),
    ]

    @Test(.holds("88"), arguments: refusals.indices, [false, true])
    func `a proxy that opens no connection is said, and nothing is sent`(
        number: Int,
        isGuarded: Bool
    ) async throws {
        let (behavior, words) = Self.refusals[number]
        let isSlow = if case .ignore = behavior { true } else { false }
        let bench = try await ProxyBench(
            isGuarded: isGuarded,
            connectLimit: isSlow ? .milliseconds(200) : HTTPLimits.connect
        )
        bench.proxy.behave(behavior)
        let result = try await bench.send(bench.request(bench.choice()))
        guard case .failure(.unreachable(let message)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(
            message.contains(words) && message.contains("http://127.0.0.1:\(bench.proxy.port)"),
            "\(message)"
        )
        #expect(bench.server.connections == 0 && bench.proxy.relayed.isEmpty)
        await bench.end()
    }

    @Test(arguments: [false, true])
    func `interim responses and fields about a body are passed over`(isTLS: Bool) async throws {
        let bench = try await ProxyBench(isTLS: isTLS, connectLimit: .seconds(3))
        bench.proxy.behave(
            .answer("HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200\r\nContent-Length: 5\r\n\r\n")
        )
        // There is no server behind the proxy, so TLS with the server does not begin.
        let result = try await bench.send(bench.request(bench.choice(isTLS: isTLS)))
        guard case .failure(.unreachable("connection timed out")) = result else {
            Issue.record("\(result)")
            return
        }
        await bench.end()
    }

    @Test func `a proxy that is not there is named`() async throws {
        let bench = try await ProxyBench()
        let closed = try ClosedPort()
        let proxy = try ForwardProxy("http://127.0.0.1:\(closed.number)")
        let choice = ProxySetting.proxy(ConfiguredProxy(proxy, coversInternal: true))
        #expect(
            try await bench.send(bench.request(choice))
                == .failure(.proxy(.unreachable("Connection refused"), proxy))
        )
        await bench.end()
    }

    /// No resolver has the last one.
    @Test(arguments: [("localhost", false), ("proxy.localhost", false), ("proxy.localhost", true)])
    func `a proxy on this machine is reached without a resolver`(host: String, isGuarded: Bool) async throws {
        let bench = try await ProxyBench(isGuarded: isGuarded)
        let proxy = try ForwardProxy("http://\(host):\(bench.proxy.port)")
        let choice = ProxySetting.proxy(ConfiguredProxy(proxy, coversInternal: true))
        #expect(try await bench.send(bench.request(choice)).get().status == 200)
        #expect(bench.proxy.connections == 1)
        await bench.end()
    }

    @Test(.holds("88"), arguments: [false, true])
    func `an https proxy that nobody vouches for is not asked`(isGuarded: Bool) async throws {
        let bench = try await ProxyBench(
            isTLS: true,
            isGuarded: isGuarded,
            certificate: Certificates.selfSigned,
            key: Certificates.selfSignedKey
        )
        let result = try await bench.send(bench.request(bench.choice(isTLS: true)))
        guard case .failure(.insecure(let message)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(
            message.hasPrefix("the proxy https://127.0.0.1:\(bench.proxy.port) is not trusted"),
            "\(message)"
        )
        #expect(bench.proxy.requests.isEmpty && bench.server.connections == 0)
        await bench.end()
    }

    /// `isTLS`: the connection to the proxy uses TLS.
    ///
    /// `isGuarded`: a guard handles the exchange.
    @Test(.holds("88"), arguments: [(false, false), (false, true), (true, false), (true, true)])
    func `the server behind a proxy has to prove itself and match the pins`(
        isTLS: Bool,
        isGuarded: Bool
    ) async throws {
        let bench = try await ProxyBench(isTLS: isTLS, isGuarded: isGuarded)
        let choice = try bench.choice(isTLS: isTLS)
        let pin = "sha256/" + String(repeating: "A", count: 43) + "="
        #expect(
            try await bench.send(bench.request(choice, pins: [pin]))
                == .failure(.insecure("the server's key matches no pin"))
        )
        let pinned = try bench.request(choice, pins: [Certificates.goodPin])
        #expect(try await bench.send(pinned).get().status == 200)
        if !isTLS {
            let result = try await bench.send(bench.request(choice, trusts: false))
            guard case .failure(.untrusted) = result else {
                Issue.record("\(result)")
                return
            }
        }
        #expect(bench.server.requests.count == 1)
        await bench.end()
    }

    @Test func `what is said of a host names its proxy and who says so`() throws {
        let proxy = try ForwardProxy("http://p.example:3128")
        let routes = ProxyRoutes(ProxyVariables { $0 == "HTTPS_PROXY" ? "http://e.example:1" : nil })
        let host = "https://id.example/x"
        let own = ProxySetting.proxy(ConfiguredProxy(proxy, coversInternal: true))
        let all = ProxySetting.proxy(ConfiguredProxy(proxy, coversInternal: false))
        #expect(routes.description(of: host, own) == "through the proxy http://p.example:3128 (proxy)")
        #expect(routes.description(of: host, all) == "through the proxy http://p.example:3128 (agent.proxy)")
        #expect(
            routes.description(of: host, .environment) == "through the proxy http://e.example:1 (HTTPS_PROXY)"
        )
        #expect(routes.description(of: "https://10.0.0.1/x", .environment) == "without a proxy")
        #expect(routes.description(of: host, .direct) == "without a proxy")
        #expect(ProxyRoutes().description(of: host, .environment) == nil)
    }
}
