// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

/// Serialized, because the tests measure connections and time.
@Suite(.serialized)
struct HTTPTransportTests {
    @Test(.holds("O15")) func `a request is one POST with its form in the body`() async throws {
        let server = try await TinyServer.start { _ in [.send(Wire.ok)] }
        let reply = try await Wire.post(server).get()
        #expect(reply.status == 200)
        #expect(reply.body == Array("{}".utf8))
        let request = try #require(server.requests.first)
        #expect(request.hasPrefix("POST /token HTTP/1.1\r\n"))
        #expect(request.hasSuffix("\r\n\r\nrefresh_token=canary"))
        #expect(server.requests.count == 1)
    }

    @Test func `each request has a connection of its own`() async throws {
        let server = try await TinyServer.start { _ in [.send(Wire.ok)] }
        let transport = HTTPTransport(eventLoop: Wire.eventLoop)
        for _ in 0..<3 {
            let url = try EndpointURL("http://127.0.0.1:\(server.port)/token")
            let request = OutgoingRequest(url: url, form: FormBody([("a", "b")]), trust: ServerTrust())
            _ = try await transport.send(request)
        }
        await transport.shutDown()
        await server.stop()
        #expect(server.connections == 3)
    }

    /// No resolver has the last two.
    @Test(arguments: ["127.0.0.1", "::1"], ["localhost", "LOCALHOST", "app.localhost", "x.y.localhost"])
    func `localhost is reached without a resolver, wherever the server listens`(
        host: String,
        name: String
    ) async throws {
        // Not every machine has the other address.
        guard host == "127.0.0.1" || File.exists("/proc/net/if_inet6") else { return }
        // 127.0.0.1 is asked first. Nobody listens at this port of it; at another, a server of another test may.
        let refusing = host == "::1" ? try ClosedPort() : nil
        let server = try await TinyServer.start(host: host, port: refusing.map { Int($0.number) } ?? 0) { _ in
            [.send(Wire.ok)]
        }
        let transport = HTTPTransport(eventLoop: Wire.eventLoop)
        let url = try EndpointURL("http://\(name):\(server.port)/a?b=c")
        for form in [nil, FormBody([("a", "b")])] {
            let request = OutgoingRequest(url: url, form: form, trust: ServerTrust())
            #expect(try await transport.outcome(of: request).get().status == 200)
        }
        #expect(
            server.requests.map { String($0.split(separator: "\r\n")[0]) } == [
                "GET /a?b=c HTTP/1.1", "POST /a?b=c HTTP/1.1",
            ]
        )
        let field = "host: \(name.lowercased()):\(server.port)\r\n"
        #expect(server.requests.allSatisfy { $0.lowercased().contains(field) }, "\(server.requests)")
        await transport.shutDown()
        await server.stop()
        withExtendedLifetime(refusing) {}
    }

    @Test func `a server that speaks HTTP/2 only is called so`() async throws {
        // SETTINGS, which such a server sends first.
        let server = try await TinyServer.start { _ in [.send("\0\0\0\u{4}\0\0\0\0\0"), .close] }
        let transport = HTTPTransport(eventLoop: Wire.eventLoop)
        let url = try EndpointURL("http://127.0.0.1:\(server.port)/")
        let result = await transport.outcome(of: OutgoingRequest(url: url, trust: ServerTrust()))
        guard case .failure(.unreachable(let message)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(message.contains("HTTP/2 only?"))
        await transport.shutDown()
        await server.stop()
    }

    @Test(.holds("76", "O25"), arguments: [301, 302, 303, 307, 308])
    func `a redirect is an answer, never followed`(status: Int) async throws {
        let other = try await TinyServer.start { _ in [.send(Wire.ok)] }
        let location = "http://127.0.0.1:\(other.port)/token"
        let reply = try await Wire.post([
            .send("HTTP/1.1 \(status) Elsewhere\r\nlocation: \(location)\r\ncontent-length: 0\r\n\r\n")
        ]).get()
        #expect(reply.status == status)
        #expect(other.connections == 0)
        await other.stop()
    }

    @Test(.holds("77")) func `a reply cut at any byte is ambiguous`() async throws {
        let whole = Array("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"a\": 1}".utf8)
        for count in 0..<whole.count {
            let part = String(decoding: whole[..<count], as: UTF8.self)
            for end in [TinyServer.Action.close, .reset] {
                let result = try await Wire.post([.send(part), end])
                guard case .failure(.ambiguous) = result else {
                    Issue.record("cut after \(count) bytes, \(end): \(result)")
                    continue
                }
            }
        }
        Attachment.record("\(2 * whole.count) cuts, all ambiguous", named: "figure")
    }

    @Test(.holds("77")) func `a chunked reply without its end is ambiguous`() async throws {
        let result = try await Wire.post([
            .send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"), .close,
        ])
        guard case .failure(.ambiguous) = result else {
            Issue.record("\(result)")
            return
        }
    }

    @Test(.holds("74")) func `a body of 1 MiB is read, one byte more is refused`() async throws {
        let body = String(repeating: "x", count: HTTPLimits.body)
        let fits = try await Wire.post([
            .send("HTTP/1.1 200 OK\r\ncontent-length: \(body.utf8.count)\r\n\r\n" + body)
        ])
        #expect(try fits.get().body.count == HTTPLimits.body)
        let long = try await Wire.post([
            .send("HTTP/1.1 200 OK\r\ncontent-length: \(body.utf8.count + 1)\r\n\r\n" + body + "x")
        ])
        #expect(long == .failure(.oversized("the response is larger than 1 MiB")))
    }

    @Test(.holds("74")) func `chunks without end are refused`() async throws {
        let chunk = "4000\r\n" + String(repeating: "x", count: 0x4000) + "\r\n"
        let result = try await Wire.post([
            .send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
            .trickle(chunk, every: .microseconds(50)),
        ])
        #expect(result == .failure(.oversized("the response is larger than 1 MiB")))
    }

    /// Number of header lines, and the size of each.
    @Test(.holds("74"), arguments: [(10_000, 1), (1, 1 << 20), (100, 1_000), (140, 1)])
    func `headers beyond their limits are refused`(count: Int, size: Int) async throws {
        let header = "x-many: \(String(repeating: "y", count: size))\r\n"
        let headers = String(repeating: header, count: count)
        let result = try await Wire.post([.send("HTTP/1.1 200 OK\r\n\(headers)content-length: 0\r\n\r\n")])
        #expect(result == .failure(.oversized("the response's header is too large")))
    }

    @Test(.holds("75"), arguments: ["gzip", "deflate", "br", "zstd", "gzip, gzip"])
    func `nothing is unpacked`(coding: String) async throws {
        let reply = try await Wire.post([
            .send("HTTP/1.1 200 OK\r\ncontent-encoding: \(coding)\r\ncontent-length: 4\r\n\r\nabcd")
        ]).get()
        #expect(reply.body == Array("abcd".utf8))
    }

    @Test(.holds("75")) func `no packed answer is asked for`() async throws {
        let server = try await TinyServer.start { _ in [.send(Wire.ok)] }
        _ = try await Wire.post(server).get()
        #expect(server.requests.first?.lowercased().contains("\r\naccept-encoding: identity\r\n") == true)
    }

    @Test(.holds("73")) func `a server that never answers is ambiguous after the time limit`() async throws {
        let result = try await Wire.post([], totalLimit: .milliseconds(300))
        #expect(result == .failure(.ambiguous("the request was sent, but no response arrived in time")))
    }

    @Test(.holds("73")) func `a body that trickles for ever ends at the time limit`() async throws {
        let result = try await Wire.post(
            [
                .send("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n"),
                .trickle("x", every: .milliseconds(20)),
            ],
            totalLimit: .milliseconds(300)
        )
        #expect(result == .failure(.ambiguous("the request was sent, but no response arrived in time")))
    }

    @Test(.holds("73")) func `a network that drops every packet is unreachable in time`() async throws {
        let deaf = try LocalPort("127.0.0.1", backlog: 0)
        let held = deaf.fill()
        let transport = HTTPTransport(eventLoop: Wire.eventLoop, connectLimit: .milliseconds(300))
        let url = try EndpointURL("http://127.0.0.1:\(deaf.port)/token")
        let request = OutgoingRequest(url: url, form: FormBody([("a", "b")]), trust: ServerTrust())
        let result = await transport.outcome(of: request)
        await transport.shutDown()
        withExtendedLifetime(held) {}
        #expect(result == .failure(.unreachable("connection timed out")))
    }

    @Test(.holds("73")) func `connecting may take five seconds and everything thirty`() {
        #expect(HTTPLimits.connect == .seconds(5))
        #expect(HTTPLimits.total == .seconds(30))
    }

    @Test(.holds("73")) func `a closed port is unreachable`() async throws {
        let port = try ClosedPort()
        let transport = HTTPTransport(eventLoop: Wire.eventLoop)
        let request = OutgoingRequest(
            url: try EndpointURL("http://127.0.0.1:\(port.number)/"),
            form: FormBody([("a", "b")]),
            trust: ServerTrust()
        )
        let result = await transport.outcome(of: request)
        await transport.shutDown()
        withExtendedLifetime(port) {}
        guard case .failure(.unreachable(let reason)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(reason == "Connection refused")
    }

    @Test(.holds("87"))
    func `where only public addresses are allowed a private one gets no byte of the request`()
        async throws
    {
        let server = try await TinyServer.start { _ in [.send(Wire.ok)] }
        let result = try await Wire.post(server, publicAddressOnly: true)
        guard case .failure(.insecure) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(server.bytesReceived == 0)
        // There is not even a connection, so a server at that address learns nothing.
        #expect(server.connections == 0)
    }

    @Test func `a body is wiped once it has been sent`() async throws {
        let form = FormBody([("refresh_token", "canary")])
        let request = OutgoingRequest(
            url: try EndpointURL("https://id.example/token"),
            form: form,
            trust: ServerTrust()
        )
        let body = try #require(OutgoingBody(of: request))
        var iterator = body.makeAsyncIterator()
        let buffer = try #require(try await iterator.next())
        #expect(try await iterator.next() == nil)
        #expect(body.wasSent)
        body.wipe()
        #expect(buffer.readableBytesView.allSatisfy { $0 == 0 })
    }
}
