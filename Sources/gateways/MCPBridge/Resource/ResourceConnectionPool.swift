// SPDX-License-Identifier: MIT

import ForwardProxy
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ServerCertificates

/// The persistent connections to the server, direct or through a forward proxy.
///
/// Unchecked: confined to the event loop.
final class ResourceConnectionPool: @unchecked Sendable {
    /// The maximum time a connection may be idle.
    ///
    /// Servers close idle connections after about a minute.
    private static let maximumIdleTime = TimeAmount.seconds(50)
    /// The time to establish a connection, which is doubled for a proxy, as it makes one of its own meanwhile.
    private static let connectTime = TimeAmount.seconds(10)

    private let host: String
    private let port: Int
    private let tls: (context: NIOSSLContext, identity: ServerIdentity)?
    private let tunnel: ProxyTunnel?
    private let loop: any EventLoop
    private var idle: [(connection: ResourceConnection, timer: Scheduled<Void>)] = []
    private var open: [ObjectIdentifier: ResourceConnection] = [:]

    /// Creates a pool.
    ///
    /// - Parameters:
    ///   - host: the server, with no brackets around an IPv6 address.
    ///   - port: the server's port.
    ///   - tls: the TLS settings, or `nil` for connections in the clear.
    ///   - tunnel: the way through a forward proxy, or `nil` for direct connections.
    ///   - loop: the event loop of all connections.
    init(to host: String, _ port: Int, tls: NIOSSLContext?, tunnel: ProxyTunnel?, on loop: any EventLoop) {
        self.host = host
        self.port = port
        self.tls = tls.map { ($0, ServerIdentity(host: host)) }
        self.tunnel = tunnel
        self.loop = loop
    }

    /// Sends a request over an idle connection or a new one.
    func send(_ head: HTTPRequestHead, _ body: ByteBuffer?, for response: ArrivingResponse) {
        guard !response.isOver else { return }
        if let (connection, timer) = idle.popLast() {
            timer.cancel()
            return connection.send(head, body, for: response)
        }
        connect().assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success(let connection):
                open[ObjectIdentifier(connection)] = connection
                guard response.isOver else { return connection.send(head, body, for: response) }
                keep(connection)
            case .failure(let error): response.end(error)
            }
        }
    }

    /// Closes all connections.
    func close() {
        for connection in open.values { connection.close() }
    }

    private func keep(_ connection: ResourceConnection) {
        let timer = loop.assumeIsolated().scheduleTask(in: ResourceConnectionPool.maximumIdleTime) {
            connection.close()
        }
        idle.append((connection, timer))
        connection.readMore()
    }

    private func forget(_ connection: ResourceConnection) {
        open[ObjectIdentifier(connection)] = nil
        idle.removeAll { entry in
            guard entry.connection === connection else { return false }
            entry.timer.cancel()
            return true
        }
    }

    private func connect() -> EventLoopFuture<ResourceConnection> {
        let ready = loop.makePromise(of: ResourceConnection.self)
        let limit = ResourceConnectionPool.connectTime * (tunnel == nil ? 1 : 2)
        let late: any Error = tunnel == nil ? ResourceConnectionError.timedOut : ProxyFailure.timedOut
        let timeout = loop.assumeIsolated().scheduleTask(in: limit) { ready.fail(late) }
        openChannel().assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success(let channel):
                ready.futureResult.whenFailure { _ in channel.close(promise: nil) }
                ResourceConnection.establish(
                    over: channel,
                    tls,
                    onIdle: { [weak self] in self?.keep($0) },
                    onEnd: { [weak self] in self?.forget($0) }
                )
                .cascade(to: ready)
            case .failure(let error): ready.fail(error)
            }
        }
        ready.futureResult.whenComplete { _ in timeout.cancel() }
        return ready.futureResult
    }

    /// Opens a channel whose other end is the server.
    private func openChannel() -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: loop).connectTimeout(ResourceConnectionPool.connectTime)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        guard let tunnel else { return bootstrap.connect(toServer: host, port: port) }
        return bootstrap.connect(toServer: host, port: port, through: tunnel)
    }
}
