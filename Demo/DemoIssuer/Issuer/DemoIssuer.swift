// SPDX-License-Identifier: MIT

import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// A small OAuth 2.0 and OpenID Connect authorization server for demonstrations and tests.
///
/// The server listens on 127.0.0.1 only and approves every login. It can be told to fail in every way a
/// network or a server can. Nothing it issues is worth protecting.
///
/// - Entry points: ``start(_:)``, ``queue(_:for:times:)``, ``settings``, and `/_control/` for scripts.
/// - May not: listen on an address other than 127.0.0.1, or keep anything after the process ends.
package final class DemoIssuer: Sendable {
    package struct Options: Sendable {
        /// The port, or 0 for any free port.
        package var port = 0
        package var settings = IssuerSettings()
        package var registry = IssuerRegistry()
        package var algorithm = SigningKey.Algorithm.es256
        /// The server's certificate and key, or `nil` for plain HTTP.
        package var tls: TLSIdentity?
        /// The maximum protocol version offered, to simulate an outdated server.
        package var maximumTLSVersion: TLSVersion?
        /// The PEM certificate of the CA that must have issued the client's certificate (RFC 8705), or `nil`
        /// to require none.
        package var clientAuthority: String?

        package init() {}
    }

    private struct Listening {
        var listener: (any Channel)?
        /// The port of the first `listen()`, or 0 before.
        var port = 0
        var connections: [ObjectIdentifier: any Channel] = [:]
        var accepted = 0
    }

    private struct RequestWaiter {
        var id: Int
        var path: String
        var count: Int
        var continuation: CheckedContinuation<Bool, Never>
    }

    private let wantedPort: Int
    private let state: Mutex<IssuerState>
    private let listening = Mutex(Listening())
    private let heldAnswers = Mutex<[HeldResponse]>([])
    private let waiters = Mutex<[RequestWaiter]>([])
    private let waiterNumbers = Atomic(0)
    private let eventLoop: any EventLoop
    private let sslContext: NIOSSLContext?

    private init(options: Options) throws {
        let key = try SigningKey(options.algorithm)
        let state = IssuerState(settings: options.settings, registry: options.registry, signingKey: key)
        wantedPort = options.port
        eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        sslContext = try options.tls?.serverContext(
            maximumVersion: options.maximumTLSVersion,
            clientAuthority: options.clientAuthority
        )
        self.state = Mutex(state)
    }

    deinit {
        let channels = listening.withLock { Array($0.connections.values) + [$0.listener].compactMap(\.self) }
        for channel in channels { channel.close(promise: nil) }
    }

    /// Creates an issuer and starts listening.
    package static func start(_ options: Options = Options()) async throws -> DemoIssuer {
        let issuer = try DemoIssuer(options: options)
        try await issuer.listen()
        return issuer
    }

    /// The issuer identifier, a URL without a path.
    package var issuer: String { withState { $0.issuer } }

    /// Reads or changes the issuer's state.
    func withState<Result: Sendable>(_ body: (inout IssuerState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    // MARK: Listening

    package var port: Int { listening.withLock(\.port) }

    /// Starts accepting connections, also again after ``stopListening()``, always on the same port.
    package func listen() async throws {
        let known = port == 0 ? wantedPort : port
        let channel = known == 0 ? try await bindAnywhere() : try await bind(known)
        let port = channel.localAddress?.port ?? known
        listening.withLock { listening in
            listening.listener = channel
            listening.port = port
        }
        let scheme = sslContext == nil ? "http" : "https"
        withState { $0.issuer = "\(scheme)://127.0.0.1:\(port)" }
    }

    /// Binds to a port below the ephemeral range, so that the port is still free after ``stopListening()``.
    private func bindAnywhere() async throws -> any Channel {
        for _ in 0..<50 {
            if let channel = try? await bind(Int.random(in: 20_000..<32_000)) { return channel }
        }
        return try await bind(0)
    }

    private func bind(_ port: Int) async throws -> any Channel {
        try await ServerBootstrap(group: eventLoop)
            .serverChannelOption(ChannelOptions.backlog, value: 1024)
            .serverChannelOption(ChannelOptions.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { [weak self] in self?.prepare($0) ?? $0.close() }
            .bind(host: "127.0.0.1", port: port).get()
    }

    /// Refuses connections and closes the open ones, like a server that is down.
    ///
    /// The grants remain.
    package func stopListening() async {
        let channels = listening.withLock { listening in
            defer { listening.listener = nil }
            return Array(listening.connections.values) + [listening.listener].compactMap(\.self)
        }
        for channel in channels { try? await channel.close() }
    }

    /// The number of connections accepted so far.
    package var acceptedConnections: Int { listening.withLock(\.accepted) }

    private func prepare(_ channel: any Channel) -> EventLoopFuture<Void> {
        let number = listening.withLock { listening in
            listening.accepted += 1
            listening.connections[ObjectIdentifier(channel)] = channel
            return listening.accepted
        }
        channel.closeFuture.whenComplete { [weak self] _ in
            self?.listening.withLock { $0.connections[ObjectIdentifier(channel)] = nil }
        }
        return channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let sslContext {
                try pipeline.addHandler(
                    NIOSSLServerHandler(context: sslContext),
                    name: AnswerDelivery.tlsName
                )
            }
            try pipeline.addHandler(
                ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes))
            )
            try pipeline.addHandler(ConnectionHandler(issuer: self, connection: number))
        }
    }

    // MARK: Requests

    /// Logs `request`, wakes its waiters, and returns the disturbance of its response.
    func receive(_ request: inout IssuerRequest) -> Disturbance {
        let (disturbance, delay) = withState { ($0.receive(&request), $0.settings.delay) }
        wakeWaiters()
        var result = disturbance
        result.delay += delay
        return result
    }

    /// Starts holding a response until ``release()``, which may come before the response is ready.
    func hold() -> HeldResponse {
        let answer = HeldResponse()
        heldAnswers.withLock { $0.append(answer) }
        return answer
    }

    /// Releases all held responses.
    package func release() {
        eventLoop.execute {
            let held = self.heldAnswers.withLock { held in
                defer { held = [] }
                return held
            }
            for answer in held { answer.release() }
        }
    }

    /// Waits until `count` requests to `path` have arrived.
    ///
    /// - Returns: `false` if that took longer than `limit`.
    package func hasReceived(_ count: Int, to path: String, within limit: Duration) async -> Bool {
        let id = waiterNumbers.add(1, ordering: .relaxed).newValue
        let timer = eventLoop.scheduleTask(in: TimeAmount(limit)) { [weak self] in
            for waiter in self?.takeWaiters(where: { $0.id == id }) ?? [] {
                waiter.continuation.resume(returning: false)
            }
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            waiters.withLock {
                $0.append(RequestWaiter(id: id, path: path, count: count, continuation: continuation))
            }
            wakeWaiters()
        }
    }

    private func wakeWaiters() {
        let log = withState(\.log)
        let ready = takeWaiters { waiter in log.count { $0.path == waiter.path } >= waiter.count }
        for waiter in ready { waiter.continuation.resume(returning: true) }
    }

    private func takeWaiters(where matches: (RequestWaiter) -> Bool) -> [RequestWaiter] {
        waiters.withLock { waiters in
            let taken = waiters.filter(matches)
            waiters.removeAll(where: matches)
            return taken
        }
    }
}
