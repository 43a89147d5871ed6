// SPDX-License-Identifier: MIT

import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS
import ServerCertificates

/// A connection to the server, used for one request at a time.
///
/// The connection reads only while somebody waits for the next part of a response.
///
/// Unchecked: confined to the event loop.
final class ResourceConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private enum State {
        /// The connection, and TLS if used, is being established.
        case opening(EventLoopPromise<ResourceConnection>)
        /// No request is active, so the server must not send anything.
        case idle
        case active(ArrivingResponse)
        case ended
    }

    private let channel: any Channel
    private let security: (handler: NIOSSLClientHandler, identity: ServerIdentity)?
    private var state: State
    /// Whether the server keeps the connection open after the response.
    private var isKept = false
    /// Called when a response is complete and the connection can serve another request.
    private let onIdle: (ResourceConnection) -> Void
    /// Called when the connection has ended.
    private let onEnd: (ResourceConnection) -> Void

    private init(
        _ channel: any Channel,
        _ security: (NIOSSLClientHandler, ServerIdentity)?,
        _ ready: EventLoopPromise<ResourceConnection>,
        onIdle: @escaping (ResourceConnection) -> Void,
        onEnd: @escaping (ResourceConnection) -> Void
    ) {
        self.channel = channel
        self.security = security
        state = .opening(ready)
        self.onIdle = onIdle
        self.onEnd = onEnd
    }

    /// Establishes HTTP over `channel`, which is open to the server, perhaps through a forward proxy.
    ///
    /// - Parameters:
    ///   - channel: the new channel.
    ///   - tls: the TLS settings and the server's identity, or `nil` for a connection in the clear.
    ///   - onIdle: called when the connection can serve another request.
    ///   - onEnd: called when the connection has ended.
    /// - Returns: a future that fails if the server does not prove its identity.
    static func establish(
        over channel: any Channel,
        _ tls: (context: NIOSSLContext, identity: ServerIdentity)?,
        onIdle: @escaping (ResourceConnection) -> Void,
        onEnd: @escaping (ResourceConnection) -> Void
    ) -> EventLoopFuture<ResourceConnection> {
        let ready = channel.eventLoop.makePromise(of: ResourceConnection.self)
        do {
            let pipeline = channel.pipeline.syncOperations
            var security: (NIOSSLClientHandler, ServerIdentity)?
            if let tls {
                let handler = try NIOSSLClientHandler(context: tls.context, serverHostname: tls.identity.name)
                try pipeline.addHandler(handler)
                security = (handler, tls.identity)
            }
            try pipeline.addHTTPClientHandlers()
            let connection = ResourceConnection(channel, security, ready, onIdle: onIdle, onEnd: onEnd)
            try pipeline.addHandler(connection)
        } catch {
            ready.fail(error)
        }
        return ready.futureResult
    }

    /// Sends a request, whose response goes to `response`.
    func send(_ head: HTTPRequestHead, _ body: ByteBuffer?, for response: ArrivingResponse) {
        guard case .idle = state else { return response.end(ResourceConnectionError.closed) }
        state = .active(response)
        response.connection = self
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        if let body { channel.write(HTTPClientRequestPart.body(.byteBuffer(body)), promise: nil) }
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        channel.read()
    }

    /// Reads more of the response, or notices the end of an idle connection.
    func readMore() { channel.read() }

    func close() { channel.close(promise: nil) }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        if security == nil { becomeReady() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? TLSUserEvent, case .handshakeCompleted = event, let security {
            // The identity is checked before a byte of the request is sent.
            if let certificate = security.handler.peerCertificate, security.identity.isProven(by: certificate)
            {
                becomeReady()
            } else {
                end(HostMismatchError())
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func becomeReady() {
        guard case .opening(let ready) = state else { return }
        // The handshake needs automatic reading.
        _ = try? channel.syncOptions?.setOption(.autoRead, value: false)
        state = .idle
        ready.succeed(self)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .active(let response) = state else { return end(ResourceConnectionError.closed) }
        let part = unwrapInboundIn(data)
        if case .head(let head) = part {
            isKept = head.isKeepAlive
            response.begin(head)
        } else if case .body(let piece) = part {
            response.add(piece)
        } else if isKept {
            state = .idle
            response.end(nil)
            onIdle(self)
        } else {
            end(nil)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if case .active(let response) = state, response.isAwaited { channel.read() }
    }

    func channelInactive(context: ChannelHandlerContext) { end(ResourceConnectionError.closed) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { end(error) }

    /// Ends the connection and what it was doing, with `nil` if the response is complete.
    private func end(_ error: (any Error)?) {
        let former = state
        state = .ended
        switch former {
        case .opening(let ready): ready.fail(error ?? ResourceConnectionError.closed)
        case .active(let response): response.end(error)
        case .idle: break
        case .ended: return
        }
        channel.close(promise: nil)
        onEnd(self)
    }
}

/// An error of a connection to the server that no library reports.
enum ResourceConnectionError: Error {
    /// The server closed the connection.
    case closed
    /// The connection was not established in time.
    case timedOut
}

extension ServerIdentity {
    /// The name for TLS, or `nil` for an address (RFC 6066 §3).
    fileprivate var name: String? {
        guard case .name(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The response to one request, as it arrives.
///
/// Unchecked: confined to the event loop.
final class ArrivingResponse: @unchecked Sendable {
    private let head: EventLoopPromise<HTTPResponseHead>
    private let loop: any EventLoop
    /// The connection on which it arrives, or `nil` before the request was sent and after the end.
    weak var connection: ResourceConnection?
    private var pieces: [ByteBuffer] = []
    private var waiter: EventLoopPromise<ByteBuffer?>?
    /// The result of the response, or `nil` while more may arrive.
    private var ending: Result<Void, any Error>?
    private var hasBegun = false

    init(on loop: any EventLoop) {
        self.loop = loop
        head = loop.makePromise()
    }

    var isOver: Bool { ending != nil }

    /// Whether somebody waits for a part that has not arrived.
    var isAwaited: Bool { !hasBegun || waiter != nil }

    func begin(_ head: HTTPResponseHead) {
        hasBegun = true
        self.head.succeed(head)
    }

    func add(_ piece: ByteBuffer) {
        guard let waiter else { return pieces.append(piece) }
        self.waiter = nil
        waiter.succeed(piece)
    }

    /// Ends the response, with `nil` if it is complete.
    func end(_ error: (any Error)?) {
        guard ending == nil else { return }
        connection = nil
        let result: Result<Void, any Error> = error.map { .failure($0) } ?? .success(())
        ending = result
        if !hasBegun { head.fail(error ?? ResourceConnectionError.closed) }
        waiter?.completeWith(result.map { nil })
        waiter = nil
    }

    private func next() -> EventLoopFuture<ByteBuffer?> {
        if !pieces.isEmpty { return loop.makeSucceededFuture(pieces.removeFirst()) }
        let promise = loop.makePromise(of: ByteBuffer?.self)
        if let ending {
            promise.completeWith(ending.map { nil })
        } else {
            waiter = promise
            connection?.readMore()
        }
        return promise.futureResult
    }

    // MARK: From any thread

    /// Sends the request with `send`, which runs on the event loop, and waits for the head of the response.
    func head(of send: @escaping @Sendable () -> Void) async throws -> HTTPResponseHead {
        try await withTaskCancellationHandler {
            loop.execute(send)
            return try await head.futureResult.get()
        } onCancel: {
            abandon()
        }
    }

    /// Waits for the next piece of the body, or returns `nil` at its end.
    func nextPiece() async throws -> ByteBuffer? {
        try await withTaskCancellationHandler {
            try await loop.flatSubmit { self.next() }.get()
        } onCancel: {
            abandon()
        }
    }

    /// Closes the connection unless the response is complete.
    func abandon() {
        loop.execute { [self] in
            let former = connection
            end(CancellationError())
            former?.close()
        }
    }
}
