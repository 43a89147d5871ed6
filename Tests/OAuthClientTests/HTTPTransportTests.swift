// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import NIOSSL
import Testing
import TokenCore

@testable import OAuthClient

extension HTTPTransport {
    fileprivate func outcome(of request: HTTPRequest) async -> Result<HTTPReply, TransportFailure> {
        do throws(TransportFailure) {
            return .success(try await send(request))
        } catch {
            return .failure(error)
        }
    }
}

/// Serialised: they measure connections and time.
@Suite(.serialized)
struct HTTPTransportTests {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    static let ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"

    func post(
        _ server: TinyServer,
        scheme: String = "http",
        trust: ServerTrust = ServerTrust(),
        publicAddressOnly: Bool = false,
        totalLimit: Duration = HTTPLimits.total
    ) async throws -> Result<HTTPReply, TransportFailure> {
        let transport = HTTPTransport(eventLoop: eventLoop, totalLimit: totalLimit)
        let request = HTTPRequest(
            url: try EndpointURL("\(scheme)://127.0.0.1:\(server.port)/token"),
            form: FormBody([("refresh_token", "canary")]),
            trust: trust,
            publicAddressOnly: publicAddressOnly
        )
        let result = await transport.outcome(of: request)
        await transport.shutDown()
        await server.stop()
        return result
    }

    func post(
        _ actions: [TinyServer.Action],
        totalLimit: Duration = HTTPLimits.total
    ) async throws -> Result<HTTPReply, TransportFailure> {
        try await post(try await TinyServer.start { _ in actions }, totalLimit: totalLimit)
    }

    @Test func `a request is one POST with its form in the body`() async throws {
        let server = try await TinyServer.start { _ in [.send(HTTPTransportTests.ok)] }
        let reply = try await post(server).get()
        #expect(reply.status == 200)
        #expect(reply.body == Array("{}".utf8))
        let request = try #require(server.requests.first)
        #expect(request.hasPrefix("POST /token HTTP/1.1\r\n"))
        #expect(request.hasSuffix("\r\n\r\nrefresh_token=canary"))
        #expect(server.requests.count == 1)
    }

    @Test func `each request has a connection of its own`() async throws {
        let server = try await TinyServer.start { _ in [.send(HTTPTransportTests.ok)] }
        let transport = HTTPTransport(eventLoop: eventLoop)
        for _ in 0..<3 {
            let url = try EndpointURL("http://127.0.0.1:\(server.port)/token")
            let request = HTTPRequest(url: url, form: FormBody([("a", "b")]), trust: ServerTrust())
            _ = try await transport.send(request)
        }
        await transport.shutDown()
        await server.stop()
        #expect(server.connections == 3)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect is an answer, never followed`(status: Int) async throws {
        let other = try await TinyServer.start { _ in [.send(HTTPTransportTests.ok)] }
        let location = "http://127.0.0.1:\(other.port)/token"
        let reply = try await post([
            .send("HTTP/1.1 \(status) Elsewhere\r\nlocation: \(location)\r\ncontent-length: 0\r\n\r\n")
        ]).get()
        #expect(reply.status == status)
        #expect(other.connections == 0)
        await other.stop()
    }

    @Test func `a reply cut at any byte is ambiguous`() async throws {
        let whole = Array("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"a\": 1}".utf8)
        for count in 0..<whole.count {
            let part = String(decoding: whole[..<count], as: UTF8.self)
            let end: TinyServer.Action = count % 2 == 0 ? .close : .reset
            let result = try await post([.send(part), end])
            guard case .failure(.ambiguous) = result else {
                Issue.record("cut after \(count) bytes: \(result)")
                continue
            }
        }
    }

    @Test func `a chunked reply without its end is ambiguous`() async throws {
        let result = try await post([
            .send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"), .close,
        ])
        guard case .failure(.ambiguous) = result else {
            Issue.record("\(result)")
            return
        }
    }

    @Test func `a body of 1 MiB is read, one byte more is refused`() async throws {
        let body = String(repeating: "x", count: HTTPLimits.body)
        let fits = try await post([
            .send("HTTP/1.1 200 OK\r\ncontent-length: \(body.utf8.count)\r\n\r\n" + body)
        ])
        #expect(try fits.get().body.count == HTTPLimits.body)
        let long = try await post([
            .send("HTTP/1.1 200 OK\r\ncontent-length: \(body.utf8.count + 1)\r\n\r\n" + body + "x")
        ])
        #expect(long == .failure(.oversized("the answer is larger than 1 MiB")))
    }

    @Test func `chunks without end are refused`() async throws {
        let chunk = "4000\r\n" + String(repeating: "x", count: 0x4000) + "\r\n"
        let result = try await post([
            .send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
            .trickle(chunk, every: .microseconds(50)),
        ])
        #expect(result == .failure(.oversized("the answer is larger than 1 MiB")))
    }

    /// Number of header lines, and the size of each.
    @Test(arguments: [(10_000, 1), (1, 1 << 20), (100, 1_000), (140, 1)])
    func `headers beyond their limits are refused`(count: Int, size: Int) async throws {
        let header = "x-many: \(String(repeating: "y", count: size))\r\n"
        let headers = String(repeating: header, count: count)
        let result = try await post([.send("HTTP/1.1 200 OK\r\n\(headers)content-length: 0\r\n\r\n")])
        #expect(result == .failure(.oversized("the answer's header is too large")))
    }

    @Test func `nothing is unpacked`() async throws {
        let reply = try await post([
            .send("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nabcd")
        ]).get()
        #expect(reply.body == Array("abcd".utf8))
    }

    @Test func `a server that never answers is ambiguous after the time limit`() async throws {
        let result = try await post([], totalLimit: .milliseconds(300))
        #expect(result == .failure(.ambiguous("the request was sent, no answer came in time")))
    }

    @Test func `a body that trickles for ever ends at the time limit`() async throws {
        let result = try await post(
            [
                .send("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n"),
                .trickle("x", every: .milliseconds(20)),
            ],
            totalLimit: .milliseconds(300)
        )
        #expect(result == .failure(.ambiguous("the request was sent, no answer came in time")))
    }

    @Test func `a closed port is unreachable`() async throws {
        let server = try await TinyServer.start { _ in [] }
        let port = server.port
        await server.stop()
        let transport = HTTPTransport(eventLoop: eventLoop)
        let request = HTTPRequest(
            url: try EndpointURL("http://127.0.0.1:\(port)/"),
            form: FormBody([("a", "b")]),
            trust: ServerTrust()
        )
        let result = await transport.outcome(of: request)
        await transport.shutDown()
        guard case .failure(.unreachable(let reason)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(reason == "Connection refused")
    }

    @Test func `a private authority is trusted when its file says so`() async throws {
        let file = try TemporaryFile(Certificates.authority)
        let server = try await TinyServer.start(certificate: Certificates.good, key: Certificates.goodKey) {
            _ in
            [.send(HTTPTransportTests.ok)]
        }
        let trust = ServerTrust(caFile: file.path, pins: [Certificates.goodPin])
        #expect(try await post(server, scheme: "https", trust: trust).get().status == 200)
    }

    /// What is wrong with a certificate.
    enum BadCertificate: String, CaseIterable {
        case unknownAuthority
        case selfSigned
        case expired
        case notYetValid
        case forAnotherHost

        var certificate: String {
            switch self {
            case .unknownAuthority: Certificates.good
            case .selfSigned: Certificates.selfSigned
            case .expired: Certificates.expired
            case .notYetValid: Certificates.future
            case .forAnotherHost: Certificates.other
            }
        }

        var key: String {
            switch self {
            case .unknownAuthority, .notYetValid: Certificates.goodKey
            case .selfSigned: Certificates.selfSignedKey
            case .expired: Certificates.expiredKey
            case .forAnotherHost: Certificates.otherKey
            }
        }
    }

    @Test(arguments: BadCertificate.allCases)
    func `a bad certificate is refused before any byte of the request`(bad: BadCertificate) async throws {
        let file = try TemporaryFile(Certificates.authority)
        let server = try await TinyServer.start(certificate: bad.certificate, key: bad.key) { _ in
            [.send(HTTPTransportTests.ok)]
        }
        let trust = ServerTrust(caFile: bad == .unknownAuthority ? nil : file.path)
        let result = try await post(server, scheme: "https", trust: trust)
        guard case .failure(.insecure) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(server.bytesReceived == 0)
    }

    @Test func `TLS 1·1 is refused before any byte of the request`() async throws {
        let file = try TemporaryFile(Certificates.authority)
        let server = try await TinyServer.start(
            certificate: Certificates.good,
            key: Certificates.goodKey,
            maximumTLSVersion: .tlsv11
        ) { _ in [.send(HTTPTransportTests.ok)] }
        let result = try await post(server, scheme: "https", trust: ServerTrust(caFile: file.path))
        guard case .failure(.insecure) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(server.bytesReceived == 0)
    }

    @Test func `a key that matches no pin gets no byte of the request`() async throws {
        let file = try TemporaryFile(Certificates.authority)
        let server = try await TinyServer.start(certificate: Certificates.good, key: Certificates.goodKey) {
            _ in
            [.send(HTTPTransportTests.ok)]
        }
        let pin = "sha256/" + Base64.encoded([UInt8](repeating: 7, count: 32))
        let result = try await post(
            server,
            scheme: "https",
            trust: ServerTrust(caFile: file.path, pins: [pin])
        )
        #expect(result == .failure(.insecure("the server's key matches no pin")))
        #expect(server.connections == 1)
        #expect(server.bytesReceived == 0)
    }

    @Test func `one matching pin of several is enough`() async throws {
        let file = try TemporaryFile(Certificates.authority)
        let server = try await TinyServer.start(certificate: Certificates.good, key: Certificates.goodKey) {
            _ in
            [.send(HTTPTransportTests.ok)]
        }
        let backup = "sha256/" + Base64.encoded([UInt8](repeating: 7, count: 32))
        let trust = ServerTrust(caFile: file.path, pins: [backup, Certificates.goodPin])
        #expect(try await post(server, scheme: "https", trust: trust).get().status == 200)
    }

    @Test func `a missing or empty CA file is a configuration error`() async throws {
        let empty = try TemporaryFile("no certificate in here\n")
        for path in ["/nonexistent/ca.pem", empty.path] {
            let server = try await TinyServer.start { _ in [] }
            let result = try await post(server, scheme: "https", trust: ServerTrust(caFile: path))
            guard case .failure(.misconfigured(let message)) = result else {
                Issue.record("\(path): \(result)")
                continue
            }
            #expect(message.contains(path))
            #expect(server.connections == 0)
        }
    }

    @Test func `where only public addresses are allowed a private one gets no byte of the request`()
        async throws
    {
        let server = try await TinyServer.start { _ in [.send(HTTPTransportTests.ok)] }
        let result = try await post(server, publicAddressOnly: true)
        guard case .failure(.insecure) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(server.bytesReceived == 0)
    }

    @Test func `a body is wiped once it has been sent`() async throws {
        let form = FormBody([("refresh_token", "canary")])
        let request = HTTPRequest(
            url: try EndpointURL("https://id.example/token"),
            form: form,
            trust: ServerTrust()
        )
        let body = try #require(OutgoingBody(of: request))
        var iterator = body.makeAsyncIterator()
        let buffer = try #require(await iterator.next())
        #expect(await iterator.next() == nil)
        #expect(body.wasSent)
        body.wipe()
        #expect(buffer.readableBytesView.allSatisfy { $0 == 0 })
    }
}
