// SPDX-License-Identifier: MIT

import DemoIssuer
import ServerSettings
import Synchronization
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

/// Requests in flight when the network returns.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct HangingConnectionTests {
    /// Starts a server that sends nothing on its first connection, not even the TLS handshake.
    private func silentAtFirst() async throws -> TinyServer {
        try await TinyServer.start(certificate: Certificates.good, key: Certificates.goodKey, silent: 1) {
            _ in
            [.send(Wire.ok)]
        }
    }

    private func request(
        _ server: TinyServer,
        _ authority: TemporaryFile,
        hasBody: Bool
    ) throws -> OutgoingRequest {
        OutgoingRequest(
            url: try EndpointURL("https://127.0.0.1:\(server.port)/token"),
            form: hasBody ? FormBody([("refresh_token", "canary")]) : nil,
            trust: ServerTrust(caFile: authority.path)
        )
    }

    @Test(arguments: [true, false])
    func `a request that hangs without a connection gets a new one when the network returns`(
        hasBody: Bool
    ) async throws {
        let authority = try TemporaryFile(Certificates.authority)
        let server = try await silentAtFirst()
        let transport = HTTPTransport(eventLoop: Wire.eventLoop, hangingAfter: .zero)
        let request = try request(server, authority, hasBody: hasBody)
        async let result = transport.outcome(of: request)
        #expect(try await Polling.until { server.connections == 1 })
        transport.networkReturned()
        #expect(try await result.get().status == 200)
        #expect(server.connections == 2)
        #expect(server.requests.count == 1)
        await transport.shutDown()
        await server.stop()
    }

    @Test func `a connection that is about to be there is left alone`() async throws {
        let authority = try TemporaryFile(Certificates.authority)
        let server = try await silentAtFirst()
        let transport = HTTPTransport(
            eventLoop: Wire.eventLoop,
            connectLimit: .milliseconds(500),
            hangingAfter: .seconds(3600)
        )
        let request = try request(server, authority, hasBody: true)
        async let result = transport.outcome(of: request)
        #expect(try await Polling.until { server.connections == 1 })
        transport.networkReturned()
        #expect(await result == .failure(.unreachable("connection timed out")))
        #expect(server.connections == 1)
        await transport.shutDown()
        await server.stop()
    }

    @Test func `a request that was sent is never given up`() async throws {
        let issuer = try await DemoIssuer.start()
        issuer.queue(Disturbance(isHeld: true))
        let transport = HTTPTransport(eventLoop: Wire.eventLoop, hangingAfter: .zero)
        let request = OutgoingRequest(
            url: try EndpointURL(issuer.issuer + "/token"),
            form: FormBody([("grant_type", "unknown")]),
            trust: ServerTrust()
        )
        let isAnswered = Atomic(false)
        async let result = {
            let result = await transport.outcome(of: request)
            isAnswered.store(true, ordering: .releasing)
            return result
        }()
        #expect(await issuer.hasReceived(1, to: "/token", within: .seconds(120)))
        for _ in 0..<3 { transport.networkReturned() }
        _ = try await Polling.until {
            // A request is counted a moment before it is held.
            issuer.release()
            return isAnswered.load(ordering: .acquiring)
        }
        #expect(try await result.get().status == 401)
        #expect(issuer.acceptedConnections == 1)
        await transport.shutDown()
    }

    @Test func `whoever is first decides whether a request may be out`() {
        let sent = ExchangeAttempt()
        #expect(sent.proceed())
        #expect(!sent.giveUp() && !sent.proceed())
        #expect(sent.isConnected && !sent.isGivenUp)
        let ended = ExchangeAttempt()
        #expect(ended.giveUp())
        #expect(!ended.proceed() && !ended.giveUp())
        #expect(ended.isGivenUp && !ended.isConnected)
    }

    @Test func `a body that was given up is not handed over`() async throws {
        let stage = ExchangeAttempt()
        let request = OutgoingRequest(
            url: try EndpointURL("https://id.example/token"),
            form: FormBody([("refresh_token", "canary")]),
            trust: ServerTrust()
        )
        let body = try #require(OutgoingBody(of: request, stage: stage))
        #expect(stage.giveUp())
        var iterator = body.makeAsyncIterator()
        await #expect(throws: CancellationError.self) { _ = try await iterator.next() }
        #expect(!body.wasSent)
    }
}
