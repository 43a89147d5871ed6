// SPDX-License-Identifier: MIT

import AgentProtocol
import ForwardProxy
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Text

/// A pool of connections to one upstream.
///
/// Unchecked: confined to the event loop.
final class UpstreamPool: @unchecked Sendable {
    typealias Taken = (Result<UpstreamConnection, ForwardingError>) -> Void

    /// The maximum number of idle connections.
    ///
    /// A busy machine runs about as many programs at once. With fewer, connections would be opened and closed
    /// all the time.
    private static let maximumIdleConnections = 256
    /// The maximum time a connection may be idle.
    ///
    /// Servers close idle connections after about a minute.
    private static let maximumIdleTime = TimeAmount.seconds(30)
    /// The maximum idle time of a connection for a request that cannot be sent twice.
    ///
    /// No server closes sooner.
    private static let safeIdle = TimeAmount.seconds(3)
    private static let connectTime = TimeAmount.seconds(10)

    private let upstream: UpstreamAddress
    private let tls: UpstreamTLS?
    /// The tunnel through a forward proxy, or `nil` if the upstream is reached directly.
    private let tunnel: ProxyTunnel?
    private let loop: any EventLoop
    private var idle: [(connection: UpstreamConnection, since: NIODeadline)] = []
    /// Whether another table has replaced the table of this pool.
    private var isOver = false

    init(_ upstream: UpstreamAddress, _ tls: UpstreamTLS?, _ tunnel: ProxyTunnel?, loop: any EventLoop) {
        self.upstream = upstream
        self.tls = tls
        self.tunnel = tunnel
        self.loop = loop
    }

    /// Takes an idle connection, or opens one.
    ///
    /// - Parameters:
    ///   - isFresh: whether a new connection is required.
    ///   - mayRepeat: whether the request can be sent again if the upstream has just closed the connection.
    ///   - taken: receives the connection, on which nothing has been sent for the request.
    func take(isFresh: Bool, mayRepeat: Bool, _ taken: @escaping Taken) {
        let longest = mayRepeat ? UpstreamPool.maximumIdleTime : UpstreamPool.safeIdle
        while !isFresh, let (connection, since) = idle.popLast() {
            guard connection.isUsable, since + longest > .now() else {
                connection.close()
                continue
            }
            connection.isReused = true
            return taken(.success(connection))
        }
        connect(taken)
    }

    /// Returns a connection to the pool, after its last response is complete.
    func give(_ connection: UpstreamConnection) {
        guard !isOver, connection.isUsable, idle.count < UpstreamPool.maximumIdleConnections else {
            return connection.close()
        }
        idle.append((connection, .now()))
        connection.rest(in: self)
    }

    /// Removes a connection that the upstream has closed.
    func forget(_ connection: UpstreamConnection) {
        idle.removeAll { $0.connection === connection }
    }

    /// Closes connections that have been idle too long.
    func sweep() {
        let oldest = NIODeadline.now() - UpstreamPool.maximumIdleTime
        while let first = idle.first, first.since < oldest {
            idle.removeFirst()
            first.connection.close()
        }
    }

    /// Closes all idle connections.
    func close() {
        let closing = idle
        idle = []
        for (connection, _) in closing { connection.close() }
    }

    /// Closes all idle connections, and keeps none from now on.
    func end() {
        isOver = true
        close()
    }

    private func connect(_ taken: @escaping Taken) {
        let reply = LoopBound(taken)
        let ready = loop.makePromise(of: UpstreamConnection.self)
        let connection = UpstreamConnection(tls: tls, ready: ready)
        let bound = LoopBound(connection)
        let limit = loop.scheduleTask(in: UpstreamPool.connectTime) { [upstream] in
            ready.fail(ForwardingError(504, "no response from \(upstream.origin)"))
        }
        let bootstrap = ClientBootstrap(group: loop)
            // The TLS handshake needs automatic reading. After the handshake, reading follows the client.
            .channelOption(.autoRead, value: tls != nil)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connectTimeout(UpstreamPool.connectTime)
        let opened =
            if let tunnel {
                bootstrap.connect(toServer: upstream.host, port: upstream.port, through: tunnel)
                    .flatMapThrowing { channel in
                        do {
                            try bound.value.join(channel)
                        } catch {
                            channel.close(promise: nil)
                            throw error
                        }
                    }
            } else {
                bootstrap.channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try bound.value.join(channel) }
                }
                .connect(toServer: upstream.host, port: upstream.port).map { _ in }
            }
        opened.whenFailure { [fault] in ready.fail(fault($0)) }
        ready.futureResult.whenComplete { [fault] result in
            limit.cancel()
            switch result {
            case .success(let connection): reply.value(.success(connection))
            case .failure(let error):
                bound.value.close()
                reply.value(.failure(fault(error)))
            }
        }
    }

    /// The conversion of an error into a response for the client.
    private var fault: @Sendable (any Error) -> ForwardingError {
        { [upstream, tunnel] error in
            guard let failure = error as? ProxyFailure, let tunnel else {
                return UpstreamPool.fault(error, at: upstream)
            }
            return ForwardingError(502, "\(upstream.origin): \(failure.message(of: tunnel.proxy))")
        }
    }

    /// Returns the response for a failed connection to `upstream`.
    static func fault(_ error: any Error, at upstream: UpstreamAddress) -> ForwardingError {
        switch error {
        case let fault as ForwardingError: fault
        case let error as NIOConnectionError:
            ForwardingError(
                502,
                "cannot connect to \(upstream.origin): \(ConnectionFailureText.reason(of: error))"
            )
        case is NIOSSLExtraError: ForwardingError(502, UpstreamTLS.otherHost)
        case let error as NIOSSLError: ForwardingError(502, handshakeFailure(error, at: upstream))
        default: ForwardingError(502, "cannot connect to \(upstream.origin)")
        }
    }

    private static func handshakeFailure(_ error: NIOSSLError, at upstream: UpstreamAddress) -> String {
        let text = String(describing: error)
        if text.contains("CERTIFICATE_VERIFY_FAILED") || text.contains("unableToValidateCertificate") {
            return
                "the certificate of \(upstream.origin) is not trusted: unknown issuer, expired or not yet valid "
                + Remedy.set("ca_file").parenthesized
        }
        return "TLS handshake with \(upstream.origin) failed"
    }
}
