// SPDX-License-Identifier: MIT

import ExchangeGuard
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import SealedStore
import Text

/// One request over a connection that its guard holds: the guard sends nothing late, and keeps what the server says.
///
/// Confined to its event loop.
final class GuardedConnection {
    /// What is to be done.
    struct Order: Sendable {
        var request: OutgoingRequest
        var body: OutgoingBody
        var stage: ConnectionStage
        var link: GuardLink
        /// Where the answer is kept; `nil`: nowhere.
        var file: AnswerFile?
        var limits: GuardedExchangeLimits
        var connectLimit: Duration
        var gate: ConnectionGate
        /// `nil`: the server speaks no TLS.
        var security: TLSContexts.Security?
    }

    private let order: Order
    private let eventLoop: any EventLoop
    private let framing = GuardFraming()
    private let handshake: EventLoopPromise<Void>
    private let answer: EventLoopPromise<HTTPReply>
    private var isOver = false

    init(_ order: Order, on eventLoop: any EventLoop) {
        self.order = order
        self.eventLoop = eventLoop
        handshake = eventLoop.makePromise()
        answer = eventLoop.makePromise()
    }

    /// Runs the exchange to its end.
    static func run(_ order: Order, on eventLoop: any EventLoop) async throws -> HTTPReply {
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

    private func begin() -> EventLoopFuture<HTTPReply> {
        let patience = eventLoop.assumeIsolated().scheduleTask(
            in: .nanoseconds(order.connectLimit.nanoseconds)
        ) { [self] in
            fail(TransportFailure.unreachable("no connection in time"))
        }
        handshake.futureResult.whenComplete { _ in patience.cancel() }
        connect().assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success(let channel): handOver(channel)
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
        let isUnsent = order.stage.isConnected && !framing.hasBegun
        fail(isUnsent ? TransportFailure.unreachable("the time to send the request had passed") : error)
    }

    private func close() {
        isOver = true
        // Of a server that was refused nobody has taken the key.
        _ = framing.clientRandom.flatMap { order.security?.keys.take($0) }
        // Without a word to the server: TLS would wait for its answer, and keep what it has read meanwhile.
        framing.finish()
    }
}

// MARK: Steps

extension GuardedConnection {
    private func connect() -> EventLoopFuture<any Channel> {
        let url = order.request.url
        return ClientBootstrap(group: eventLoop)
            .connectTimeout(.nanoseconds(order.connectLimit.nanoseconds))
            // Its bytes are for the guard.
            .channelOption(.autoRead, value: false)
            .connect(host: url.host, port: url.port)
    }

    /// Gives the connection away, and goes on over the socket to the guard.
    private func handOver(_ channel: any Channel) {
        defer { channel.close(promise: nil) }
        guard !isOver else { return }
        do {
            try order.gate.admit(address: channel.remoteAddress)
            let given = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { connection in
                order.link.hand(
                    GuardOrder(end: order.limits.end),
                    connection: connection,
                    file: order.file?.descriptor
                )
            }
            guard given == true else {
                throw TransportFailure.unreachable("the process that guards the request has ended")
            }
        } catch {
            return fail(error)
        }
        let handlers = NIOLoopBound(self, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try handlers.value.prepare(channel) }
            }
            .withConnectedSocket(order.link.take())
            .assumeIsolated()
            .whenComplete { [self] result in
                switch result {
                case .success(let channel): greet(channel)
                case .failure(let error): fail(error)
                }
            }
    }

    private func prepare(_ channel: any Channel) throws {
        guard !isOver else { throw CancellationError() }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(framing)
        if let security = order.security { try pipeline.addHandler(security.makeHandler()) }
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
        handshake.futureResult.flatMap { [order] in
            // Only its guard is seen at the other end; where the server is was looked at before.
            order.gate.checkCertificate(channel)
        }.assumeIsolated().whenComplete { [self] result in
            do {
                try result.get()
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
        framing.arm(GuardArming(sendBefore: order.limits.sendBefore, head: head))
        channel.write(HTTPClientRequestPart.head(request), promise: nil)
        channel.write(HTTPClientRequestPart.body(.byteBuffer(order.body.bytes)), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        framing.endRequest()
    }
}
