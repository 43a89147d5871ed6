// SPDX-License-Identifier: MIT

import CHardening
import ForwardProxy
import NIOCore
import NIOSSL
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// A server with a certificate, a proxy, and a transport.
struct ProxyBench {
    let server: TinyServer
    let proxy: ConnectProxy
    let authority: TemporaryFile
    let transport: HTTPTransport
    let guards: StoppableGuards?

    init(
        credentials: String? = nil,
        isTLS: Bool = false,
        isGuarded: Bool = false,
        connectLimit: Duration = HTTPLimits.connect,
        certificate: String = Certificates.good,
        key: String = Certificates.goodKey,
        commands: (any CommandRunning)? = nil,
        variables: [String: String] = [:]
    ) async throws {
        server = try await TinyServer.start(certificate: Certificates.good, key: Certificates.goodKey) { _ in
            [.send(Wire.ok)]
        }
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8))
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
            )
        )
        proxy = try await ConnectProxy.start(credentials: credentials) { channel in
            guard isTLS else { return }
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        }
        authority = try TemporaryFile(Certificates.authority)
        guards = isGuarded ? try StoppableGuards() : nil
        transport = HTTPTransport(
            eventLoop: Wire.eventLoop,
            door: guards?.door,
            proxies: ProxyRoutes(ProxyVariables { variables[$0] }, commands: commands),
            connectLimit: connectLimit
        )
    }

    func choice(
        _ credentials: ConfiguredProxy.CredentialSource = .none,
        isTLS: Bool = false,
        coversInternal: Bool = true
    ) throws -> ProxySetting {
        let proxy = try ForwardProxy("\(isTLS ? "https" : "http")://127.0.0.1:\(proxy.port)")
        return .proxy(ConfiguredProxy(proxy, credentials: credentials, coversInternal: coversInternal))
    }

    func request(
        _ choice: ProxySetting,
        isPost: Bool = true,
        pins: [String] = [],
        trusts: Bool = true,
        publicAddressOnly: Bool = false
    ) throws -> OutgoingRequest {
        OutgoingRequest(
            url: try EndpointURL("https://127.0.0.1:\(server.port)/token?x=1"),
            form: isPost ? FormBody([("refresh_token", "canary")]) : nil,
            trust: ServerTrust(caFile: trusts ? authority.path : nil, pins: pins, proxy: choice),
            publicAddressOnly: publicAddressOnly
        )
    }

    /// Sends with a fence if there are guards.
    func send(
        _ request: OutgoingRequest,
        sendBefore: Instant? = nil
    ) async throws -> Result<ServerResponse, TransportFailure> {
        guard guards != nil else { return await transport.outcome(of: request) }
        let now = Instant(nanoseconds: hardening_boot_clock())
        let attempt = GuardedAttempt(
            session: try #require(SessionName("work")),
            fence: RefreshRequestDeadlines(
                sendBefore: sendBefore ?? now + .seconds(20),
                arriveBefore: now + .seconds(40),
                endBefore: now + .seconds(40)
            ),
            keeper: nil
        )
        return await GuardedAttempt.$current.withValue(attempt) { await transport.outcome(of: request) }
    }

    /// The failure of a request through a proxy with these credentials.
    func failure(_ credentials: ConfiguredProxy.CredentialSource) async throws -> RefreshFailure? {
        let request = try request(choice(credentials))
        guard case .failure(let failure) = try await send(request) else { return nil }
        return failure.refreshFailure(at: request.url)
    }

    func end() async {
        await transport.shutDown()
        await server.stop()
        await proxy.stop()
    }
}
