// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import NIOPosix
import Synchronization
import TokenCore

/// Listens on a loopback address for the one redirect of a login, and no longer than that (RFC 8252 §7.3, §8.3).
final class LoopbackListener: Sendable {
    /// Limits of each connection, and of their number.
    struct Limits: Sendable {
        var connections = 16
        var perConnection: TimeAmount = .seconds(5)
    }

    let port: Int
    private let servers: [any Channel]
    private let desk: CallbackDesk

    private init(port: Int, servers: [any Channel], desk: CallbackDesk) {
        self.port = port
        self.servers = servers
        self.desk = desk
    }

    /// Opens the listener on every address of `place`.
    ///
    /// - Parameters:
    ///   - place: whose requests are answered.
    ///   - eventLoop: carries the listener and its connections.
    ///   - limits: of connections.
    /// - Returns: the listener, to be closed by the caller.
    /// - Throws: `misconfigured` when the port is taken at one of the addresses.
    static func open(
        _ place: LoopbackPlace,
        on eventLoop: any EventLoop,
        limits: Limits = Limits()
    ) async throws(RefreshFailure) -> LoopbackListener {
        let desk = CallbackDesk(limits: limits, eventLoop: eventLoop)
        let bootstrap = ServerBootstrap(group: eventLoop)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(CallbackHandler(desk: desk))
                }
            }
        var servers: [any Channel] = []
        for address in place.addresses {
            do {
                let name = try SocketAddress(ipAddress: address, port: place.port)
                servers.append(try await bootstrap.bind(to: name).get())
            } catch {
                // Where IPv6 is off nobody else can be at its address either.
                if !servers.isEmpty, (error as? IOError)?.saysNoSuchAddress == true { continue }
                for server in servers { try? await server.close().get() }
                desk.close()
                throw .cannotListen(on: address, place.port, error)
            }
        }
        var opened = place
        opened.port = servers.first?.localAddress?.port ?? place.port
        desk.open(opened)
        return LoopbackListener(port: opened.port, servers: servers, desk: desk)
    }

    /// From now on takes the response `transaction` accepts; everything else is turned away.
    func expect(_ transaction: AuthorizationTransaction) {
        desk.expect(transaction)
    }

    /// Waits for the response of the expected transaction.
    /// - Throws: `CancellationError`.
    func response() async throws -> AuthorizationTransaction.Response {
        try await desk.response()
    }

    func close() async {
        for server in servers { try? await server.close().get() }
        desk.close()
    }
}

/// Shared by the connections of one listener: who is connected, and who waits for the response.
final class CallbackDesk: Sendable {
    private struct Contents {
        var place: LoopbackPlace?
        var transaction: AuthorizationTransaction?
        var connections: [any Channel] = []
    }

    let limits: LoopbackListener.Limits
    private let contents = Mutex(Contents())
    private let promise: EventLoopPromise<AuthorizationTransaction.Response>

    init(limits: LoopbackListener.Limits, eventLoop: any EventLoop) {
        self.limits = limits
        promise = eventLoop.makePromise()
    }

    /// What requests have to be for; `nil` until the port is known.
    var place: LoopbackPlace? { contents.withLock { $0.place } }

    func open(_ place: LoopbackPlace) {
        contents.withLock { $0.place = place }
    }

    func expect(_ transaction: AuthorizationTransaction) {
        contents.withLock { $0.transaction = transaction }
    }

    func response() async throws -> AuthorizationTransaction.Response {
        try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            promise.fail(CancellationError())
        }
    }

    /// The response in `query`, if the waiting login accepts it.
    func accept(_ query: String) -> AuthorizationTransaction.Response? {
        contents.withLock { $0.transaction }?.accept(query)
    }

    func deliver(_ response: AuthorizationTransaction.Response) {
        promise.succeed(response)
    }

    /// Adds a connection; if there are too many, the oldest is closed, so that stalled ones never keep the
    /// browser out.
    func connected(_ channel: any Channel) {
        let oldest: (any Channel)? = contents.withLock { contents in
            contents.connections.append(channel)
            guard contents.connections.count > limits.connections else { return nil }
            return contents.connections.removeFirst()
        }
        oldest?.close(promise: nil)
    }

    func disconnected(_ channel: any Channel) {
        contents.withLock { contents in contents.connections.removeAll { $0 === channel } }
    }

    func close() {
        let open = contents.withLock { $0.connections }
        for channel in open { channel.close(promise: nil) }
        promise.fail(CancellationError())
    }
}

/// One connection: reads one request, answers, closes.
final class CallbackHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let desk: CallbackDesk
    private var received: [UInt8] = []
    private var isAnswered = false
    private var alarm: Scheduled<Void>?

    init(desk: CallbackDesk) {
        self.desk = desk
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        desk.connected(channel)
        alarm = context.eventLoop.scheduleTask(in: desk.limits.perConnection) { channel.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        alarm?.cancel()
        desk.disconnected(context.channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isAnswered, let place = desk.place else { return }
        received.append(contentsOf: unwrapInboundIn(data).readableBytesView)
        switch CallbackRequest(received, to: place) {
        case .incomplete: break
        case .refused(let status): answer(CallbackPage.response(status: status), nil, context)
        case .empty: answer(CallbackPage.empty, nil, context)
        case .callback(let query):
            let response = desk.accept(query)
            answer(CallbackPage.response(status: response == nil ? 400 : 200), response, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Writes the page before it delivers the response, as the login then closes the listener and its
    /// connections.
    private func answer(
        _ page: String,
        _ response: AuthorizationTransaction.Response?,
        _ context: ChannelHandlerContext
    ) {
        isAnswered = true
        received = []
        let page = context.channel.allocator.buffer(string: page)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(page)).whenComplete { [desk] _ in
            if let response { desk.deliver(response) }
            channel.close(promise: nil)
        }
    }
}

extension IOError {
    /// Whether this machine has no such address, or none of its family.
    fileprivate var saysNoSuchAddress: Bool { [EADDRNOTAVAIL, EAFNOSUPPORT].contains(errnoCode) }
}

extension RefreshFailure {
    fileprivate static func cannotListen(
        on address: String,
        _ port: Int,
        _ error: any Error
    ) -> RefreshFailure {
        let number = (error as? IOError)?.errnoCode
        let reason = number.map(SystemError.text) ?? "\(error)"
        let host = address.contains(":") ? "[\(address)]" : address
        return RefreshFailure(
            kind: .misconfigured,
            message: "cannot listen on \(host):\(port): \(reason)",
            remedy: number == EADDRINUSE
                ? "end the program that has this port, or log in with --paste"
                : "log in with --paste"
        )
    }
}
