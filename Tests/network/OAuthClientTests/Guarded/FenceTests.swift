// SPDX-License-Identifier: MIT

import CHardening
import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

/// A request that must not be late, through the real guard, whatever was stopped.
struct FenceTests {
    private static var now: Instant { Instant(nanoseconds: hardening_boot_clock()) }

    /// A server, what it was sent, and a request to it.
    private static func server() async throws -> (TinyServer, OutgoingRequest) {
        let server = try await TinyServer.start { _ in [.send(Wire.ok)] }
        let url = try EndpointURL("http://127.0.0.1:\(server.port)/token")
        let form = FormBody([("refresh_token", "canary")])
        return (server, OutgoingRequest(url: url, form: form, trust: ServerTrust()))
    }

    private static func send(
        _ request: OutgoingRequest,
        _ guards: StoppableGuards?,
        sendBefore: Instant,
        arriveBefore: Instant? = nil,
        endBefore: Instant? = nil
    ) async throws -> Result<ServerResponse, TransportFailure> {
        let transport = HTTPTransport(eventLoop: Wire.eventLoop, door: guards?.door)
        let attempt = GuardedAttempt(
            session: try #require(SessionName("work")),
            fence: RefreshRequestDeadlines(
                sendBefore: sendBefore,
                arriveBefore: arriveBefore ?? sendBefore + .seconds(20),
                endBefore: endBefore ?? (arriveBefore ?? sendBefore) + .seconds(30)
            ),
            keeper: nil
        )
        let result = await GuardedAttempt.$current.withValue(attempt) { await transport.outcome(of: request) }
        await transport.shutDown()
        return result
    }

    /// Nothing was sent, and the failure says so.
    private static func isUnsent(_ result: Result<ServerResponse, TransportFailure>) -> Bool {
        if case .failure(.unreachable) = result { true } else { false }
    }

    @Test func `a request that is in time is sent`() async throws {
        let (server, request) = try await Self.server()
        let result = try await Self.send(request, StoppableGuards(), sendBefore: Self.now + .seconds(20))
        #expect(try result.get().body == Array("{}".utf8))
        let sent = try #require(server.requests.first)
        #expect(sent.hasPrefix("POST /token HTTP/1.1\r\n"))
        #expect(sent.hasSuffix("\r\n\r\nrefresh_token=canary"))
        await server.stop()
    }

    @Test(.holds("254", "263")) func `an agent that was stopped for too long sends nothing`() async throws {
        let (server, request) = try await Self.server()
        let result = try await Self.send(request, StoppableGuards(), sendBefore: Self.now - .milliseconds(1))
        #expect(Self.isUnsent(result), "\(result)")
        #expect(server.bytesReceived == 0)
        await server.stop()
    }

    @Test(.holds("254", "263")) func `a guard that was stopped for too long sends nothing`() async throws {
        let (server, request) = try await Self.server()
        let guards = try StoppableGuards(stopped: true)
        let moment = Self.now + .milliseconds(500)
        async let result = Self.send(request, guards, sendBefore: moment)
        // The request waits in the socket between the two.
        #expect(try await Polling.until { server.connections == 1 && Self.now > moment })
        #expect(server.bytesReceived == 0)
        try await guards.goOn()
        #expect(Self.isUnsent(try await result))
        #expect(server.bytesReceived == 0)
        await server.stop()
    }

    @Test(.holds("254")) func `nobody waits for an answer after its end`() async throws {
        let server = try await TinyServer.start { _ in [] }
        let url = try EndpointURL("http://127.0.0.1:\(server.port)/token")
        let form = FormBody([("refresh_token", "canary")])
        let moment = Self.now + .seconds(1)
        let result = try await Self.send(
            OutgoingRequest(url: url, form: form, trust: ServerTrust()),
            StoppableGuards(),
            sendBefore: moment,
            endBefore: moment
        )
        guard case .failure(.ambiguous) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(Self.now >= moment, "\(result)")
        #expect(server.requests.count == 1)
        await server.stop()
    }

    @Test func `an answer is waited for beyond the moment until which the request has to arrive`()
        async throws
    {
        let moment = Self.now + .milliseconds(600)
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n{}"
        let server = try await TinyServer.start { _ in [.send(head), .trickle(" ", every: .milliseconds(40))]
        }
        let url = try EndpointURL("http://127.0.0.1:\(server.port)/token")
        let result = try await Self.send(
            OutgoingRequest(url: url, form: FormBody([("refresh_token", "canary")]), trust: ServerTrust()),
            StoppableGuards(),
            sendBefore: moment,
            arriveBefore: moment
        )
        #expect(try result.get().body.starts(with: "{}".utf8))
        #expect(Self.now > moment)
        await server.stop()
    }

    @Test(.holds("263"))
    func `an answer that came in time is taken, although all were stopped until after the end`()
        async throws
    {
        let guards = try StoppableGuards()
        let server = try await TinyServer.start { _ in
            // The request is out, and the answer finds nobody awake.
            guards.stop()
            return [.send(Wire.ok)]
        }
        let url = try EndpointURL("http://127.0.0.1:\(server.port)/token")
        let request = OutgoingRequest(
            url: url,
            form: FormBody([("refresh_token", "canary")]),
            trust: ServerTrust(),
            limit: .seconds(1)
        )
        let moment = Self.now + .seconds(1)
        async let result = Self.send(request, guards, sendBefore: moment, endBefore: moment)
        #expect(try await Polling.until { server.requests.count == 1 && Self.now > moment })
        try await guards.goOn()
        #expect(try await result.get().body == Array("{}".utf8))
        await server.stop()
    }

    @Test(.holds("254")) func `without a guard nothing is sent`() async throws {
        let (server, request) = try await Self.server()
        let result = try await Self.send(request, nil, sendBefore: Self.now + .seconds(20))
        #expect(Self.isUnsent(result), "\(result)")
        #expect(server.connections == 0)
        await server.stop()
    }

    @Test
    func
        `where only a recorded answer is wanted nothing is sent, and it is not taken for an attempt that did nothing`()
        async throws
    {
        let (server, request) = try await Self.server()
        let none = RefreshRequestDeadlines.recorded
        let result = try await Self.send(
            request,
            StoppableGuards(),
            sendBefore: none.sendBefore,
            arriveBefore: none.arriveBefore,
            endBefore: none.endBefore
        )
        guard case .failure(.ambiguous) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(server.connections == 0)
        await server.stop()
    }

    @Test(.holds("254"), arguments: [false, true])
    func `a proxy is given nothing of a request that is too late`(isTLS: Bool) async throws {
        let bench = try await ProxyBench(isTLS: isTLS, isGuarded: true)
        let request = try bench.request(bench.choice(isTLS: isTLS))
        let result = try await bench.send(request, sendBefore: Self.now - .milliseconds(1))
        #expect(Self.isUnsent(result), "\(result)")
        #expect(bench.proxy.requests.count == 1 && bench.server.requests.isEmpty)
        await bench.end()
    }

    @Test func `in the clear only a fence needs a guard`() async throws {
        let (server, request) = try await Self.server()
        let attempt = GuardedAttempt(session: try #require(SessionName("work")), fence: nil, keeper: nil)
        GuardedAttempt.$current.withValue(attempt) {
            #expect(GuardedAttempt.guarding(request) == nil)
        }
        await server.stop()
    }
}
