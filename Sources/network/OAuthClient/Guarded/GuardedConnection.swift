// SPDX-License-Identifier: MIT

import ExchangeGuard
import ForwardProxy
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import SealedStore
import ServerSettings
import Text

/// One request over a connection that is made for it, and that a guard may hold: the guard sends nothing late, and keeps
/// what the server says.
///
/// Confined to its event loop.
final class GuardedConnection {
    /// What is to be done.
    struct Order: Sendable {
        var request: OutgoingRequest
        /// `nil` if the request has none.
        var body: OutgoingBody?
        var stage: ExchangeAttempt
        /// `nil` if nobody holds the connection but this process.
        var link: GuardLink?
        /// `nil` if the connection leads to the server itself.
        var tunnel: ProxyTunnel?
        /// Where the answer is kept; `nil`: nowhere.
        var file: ResponseRecordingFile?
        var limits: GuardedExchangeLimits
        var connectLimit: Duration
        var gate: ConnectionVerifier
        /// `nil`: the server speaks no TLS.
        var security: TLSContexts.Security?
    }

    private let order: Order
    private let eventLoop: any EventLoop
    private let framing = GuardFraming()
    private let handshake: EventLoopPromise<Void>
    private let answer: EventLoopPromise<ServerResponse>
    private var isOver = false
    /// The connection that requests are written to, for one without a guard.
    private var channel: (any Channel)?
    private var isThroughTunnel = false
    /// TLS with the server: through a proxy there may be two.
    private var security: NIOSSLClientHandler?

    init(_ order: Order, on eventLoop: any EventLoop) {
        self.order = order
        self.eventLoop = eventLoop
        handshake = eventLoop.makePromise()
        answer = eventLoop.makePromise()
    }

    /// Runs the exchange to its end.
    static func run(_ order: Order, on eventLoop: any EventLoop) async throws -> ServerResponse {
        let box = NIOLoopBoundBox<GuardedConnection?>.makeBoxSendingValue(nil, eventLoop: eventLoop)
        return try await withTaskCancellationHandler {
            try await eventLoop.flatSubmit {
                let connection = GuardedConnection(order, on: eventLoop)
                box.value = connection
                return connection.begin()
            }.get()
        } onCancel: {
            eventLoop.execute { box.value?.abandon() }
        }
    }

    private func begin() -> EventLoopFuture<ServerResponse> {
        // A proxy makes a connection of its own meanwhile.
        let limit = order.tunnel == nil ? order.connectLimit : order.connectLimit * 2
        let timeout = eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(limit.nanoseconds)) {
            [self] in
            let isDirect = order.tunnel == nil || isThroughTunnel
            fail(isDirect ? TransportFailure.unreachable("connection timed out") : ProxyFailure.timedOut)
        }
        handshake.futureResult.whenComplete { _ in timeout.cancel() }
        connect().assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success(let channel): connected(channel)
            case .failure(let error): fail(error)
            }
        }
        answer.futureResult.assumeIsolated().whenComplete { [self] _ in close() }
        return answer.futureResult
    }

    /// The caller gives up.
    private func abandon() {
        fail(CancellationError())
    }

    private func fail(_ error: any Error) {
        handshake.fail(error)
        answer.fail(error)
    }

    /// The connection to the guard has ended.
    private func ended(_ error: any Error) {
        // It was killed before it began: the alarm rang, and the server knows nothing of the request.
        let isUnsent = order.link != nil && order.stage.isConnected && !framing.hasBegun
        fail(isUnsent ? TransportFailure.unreachable("the deadline to send the request has passed") : error)
    }

    private func close() {
        isOver = true
        // Of a server that was refused nobody has taken the key.
        _ = framing.clientRandom.flatMap { order.security?.keys.take($0) }
        // Without a word to the server: TLS would wait for its answer, and keep what it has read meanwhile.
        framing.finish()
        channel?.close(promise: nil)
    }
}

// MARK: Steps

extension GuardedConnection {
    private func connect() -> EventLoopFuture<any Channel> {
        let url = order.request.url
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(.nanoseconds(order.connectLimit.nanoseconds))
            // Its bytes may be for the guard.
            .channelOption(.autoRead, value: false)
        guard let proxy = order.tunnel?.proxy else {
            return bootstrap.connect(host: order.request.address ?? url.host, port: url.port)
        }
        return bootstrap.connect(toServer: proxy.host, port: proxy.port).flatMapErrorThrowing { error in
            throw ProxyFailure.unreachable(TransportFailure.reason(notConnected: error))
        }
    }

    /// Goes on with a connection to the server, or to the proxy.
    private func connected(_ channel: any Channel) {
        guard !isOver else { return channel.close(promise: nil) }
        // What a proxy in the clear says is not recorded, so it is done with before the guard begins.
        guard let tunnel = order.tunnel, order.link == nil || !tunnel.proxy.isTLS else {
            return handOver(channel)
        }
        self.channel = channel
        open(tunnel, over: channel) { [self] in
            self.channel = nil
            handOver(channel)
        }
    }

    private func open(_ tunnel: ProxyTunnel, over channel: any Channel, _ next: @escaping () -> Void) {
        let url = order.request.url
        tunnel.open(to: url.host, port: url.port, over: channel).assumeIsolated().whenComplete {
            [self] result in
            switch result {
            case .success:
                isThroughTunnel = true
                next()
            case .failure(let error): fail(error)
            }
        }
    }

    /// Gives the connection to the guard and goes on over the socket to it, or goes on here if there is none.
    private func handOver(_ channel: any Channel) {
        guard let link = order.link else { return begin(over: channel) }
        defer { channel.close(promise: nil) }
        guard !isOver else { return }
        do {
            // Where a proxy leads was looked at before; its own address says nothing.
            if order.tunnel == nil { try order.gate.admit(address: channel.remoteAddress) }
            let given = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { connection in
                link.hand(
                    GuardHandoverMessage(end: order.limits.end),
                    connection: connection,
                    file: order.file?.descriptor
                )
            }
            guard given == true else {
                throw TransportFailure.unreachable("the helper process tokenagent-exchange exited")
            }
        } catch {
            return fail(error)
        }
        let handlers = NIOLoopBound(self, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(handlers.value.framing)
                }
            }
            .withConnectedSocket(link.take())
            .assumeIsolated()
            .whenComplete { [self] result in
                switch result {
                case .success(let channel): overGuard(channel)
                case .failure(let error): fail(error)
                }
            }
    }

    private func overGuard(_ channel: any Channel) {
        guard let tunnel = order.tunnel, tunnel.proxy.isTLS else { return greet(channel) }
        open(tunnel, over: channel) { [self] in greet(channel) }
    }

    /// Goes on without a guard.
    private func begin(over channel: any Channel) {
        guard !isOver else { return channel.close(promise: nil) }
        self.channel = channel
        if order.tunnel == nil {
            do {
                try order.gate.admit(address: channel.remoteAddress)
            } catch {
                return fail(error)
            }
        }
        channel.setOption(.autoRead, value: true).assumeIsolated().whenComplete { [self] _ in greet(channel) }
    }

    private func prepare(_ channel: any Channel) throws {
        guard !isOver else { throw CancellationError() }
        let pipeline = channel.pipeline.syncOperations
        if let security = order.security {
            let handler = try security.makeHandler()
            try pipeline.addHandler(handler)
            self.security = handler
        }
        try pipeline.addHTTPHandlers(
            AnswerCollector(
                readsBody: order.request.readsBody,
                onHandshake: { [handshake] in handshake.succeed() },
                onAnswer: { [answer] in answer.succeed($0) },
                onEnd: { [self] in ended($0) }
            )
        )
        if order.security == nil { handshake.succeed() }
    }

    /// Waits for the server to prove itself, then sends.
    private func greet(_ channel: any Channel) {
        do {
            try prepare(channel)
        } catch {
            return fail(error)
        }
        handshake.futureResult.assumeIsolated().whenComplete { [self] result in
            do {
                try result.get()
                // Only a guard or a proxy may be seen at the other end; where the server is was looked at before.
                try order.gate.check(security?.peerCertificate)
                try send(over: channel)
            } catch {
                fail(error)
            }
        }
    }

    private func send(over channel: any Channel) throws {
        let request = try HTTPRequestHead(of: order.request, order.body)
        let line = framing.clientRandom.flatMap { order.security?.keys.take($0) }
        var note = line.map { RecordingNote(url: order.request.url, key: $0).bytes }
        defer { note?.wipe() }
        let head = note.flatMap { order.file?.head(note: $0) } ?? []
        guard order.stage.proceed() else { throw CancellationError() }
        framing.arm(
            GuardArming(
                sendBefore: order.limits.sendBefore,
                arriveBefore: order.limits.arriveBefore,
                head: head
            )
        )
        channel.write(HTTPClientRequestPart.head(request), promise: nil)
        if let body = order.body {
            channel.write(HTTPClientRequestPart.body(.byteBuffer(body.bytes)), promise: nil)
        }
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        framing.endRequest()
    }
}
