// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// A receiver of the events of an upstream connection.
protocol UpstreamResponseDelegate: AnyObject {
    /// Whether another piece of the response can be taken.
    var takesAnswer: Bool { get }
    func answerBegan(_ answer: UpstreamResponse)
    func answerWent(on data: ByteBuffer)
    func answerEnded(_ trailers: [MessageField])
    /// Reports that all received bytes have been passed on, while more may arrive.
    func answerPaused()
    /// Passes on bytes of a websocket.
    func tunnelBrought(_ data: ByteBuffer)
    /// Reports that the upstream accepts bytes again.
    func upstreamBecameWritable()
    /// Reports that no more bytes arrive, with `nil` if the connection ended without an error of the upstream.
    func upstreamEnded(_ fault: ForwardingError?)
}

/// A connection to an upstream, used for one request at a time.
///
/// The connection reads only as much as its receiver takes.
///
/// Unchecked: confined to the event loop.
final class UpstreamConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private enum State {
        /// The connection, and TLS if used, is being established.
        case opening(EventLoopPromise<UpstreamConnection>)
        /// No request is active, so the upstream must not send anything.
        case resting
        case head
        case body(BodyReader)
        case tunnel
        case ended
    }

    /// The way the upstream ended the connection.
    private enum Ending {
        case closed
        /// The connection was reset, or closed without the end of TLS.
        ///
        /// A body that ends with the connection may be truncated.
        case brokenOff
    }

    private static let maximumHeadLength = 65_536
    /// The maximum number of interim responses to one request.
    private static let maximumInterim = 16

    private let tls: UpstreamTLS?
    private var security: NIOSSLClientHandler?
    private var state: State
    private var channel: (any Channel)?
    private var input = ByteBuffer()
    private var search = HeadSearch(longest: UpstreamConnection.maximumHeadLength)
    /// The receiver of the current response, or `nil` after its end.
    private weak var receiver: (any UpstreamResponseDelegate)?
    private weak var pool: UpstreamPool?
    private var answersHead = false
    private var interimCount = 0
    private let intake = ReentrancyGuard()
    /// Whether the connection has served another request before.
    var isReused = false
    /// The way the connection ended, or `nil` while it is open.
    private var ending: Ending?
    /// Whether a byte of the current response has arrived.
    private(set) var hasHeard = false

    init(tls: UpstreamTLS?, ready: EventLoopPromise<UpstreamConnection>) {
        self.tls = tls
        state = .opening(ready)
    }

    /// Adds TLS and this handler to the pipeline of a channel to the upstream.
    func join(_ channel: any Channel) throws {
        security = try tls?.add(to: channel)
        try channel.pipeline.syncOperations.addHandler(self)
    }

    var isUsable: Bool {
        guard case .resting = state else { return false }
        return channel?.isActive == true && input.readableBytes == 0
    }

    /// Whether more bytes can be written now.
    var isWritable: Bool { channel?.isWritable == true }

    // MARK: Used by the exchange and the pool

    /// Sends the head of a request, whose response goes to `receiver`.
    func begin(_ head: ByteBuffer, answersHead: Bool, for receiver: any UpstreamResponseDelegate) {
        self.receiver = receiver
        self.answersHead = answersHead
        pool = nil
        interimCount = 0
        hasHeard = false
        guard let channel, channel.isActive else {
            state = .ended
            return receiver.upstreamEnded(nil)
        }
        state = .head
        channel.writeAndFlush(head, promise: nil)
    }

    func write(_ data: ByteBuffer) { channel?.write(data, promise: nil) }

    func flush() { channel?.flush() }

    /// Waits for the next request in `pool`, and detects when the upstream closes the connection.
    func rest(in pool: UpstreamPool) {
        self.pool = pool
        channel?.read()
    }

    /// Closes the connection without notifying the receiver.
    func close() {
        receiver = nil
        state = .ended
        channel?.close(promise: nil)
        channel = nil
    }

    /// Switches to a tunnel, in which both sides send at any time.
    func becomeTunnel() { state = .tunnel }

    /// Passes input to the receiver as far as the receiver takes it, then reads more.
    func pump() {
        intake.run {
            do throws(ForwardingError) {
                try handOn()
            } catch {
                fail(error.status == 502 ? error : .badAnswer("is malformed: \(error.message)"))
            }
        }
    }

    private func handOn() throws(ForwardingError) {
        while let receiver, receiver.takesAnswer {
            guard try step(receiver) else {
                receiver.answerPaused()
                return readMore()
            }
        }
        receiver?.answerPaused()
    }

    private func readMore() {
        if let ending { return conclude(ending) }
        if input.readableBytes == 0 { input = ByteBuffer() } else { input.discardReadBytes() }
        // An idle connection already reads, in order to detect its end.
        if case .resting = state { return }
        channel?.read()
    }

    /// Passes one piece to the receiver.
    ///
    /// - Returns: `false` if there is none.
    private func step(_ receiver: any UpstreamResponseDelegate) throws(ForwardingError) -> Bool {
        switch state {
        case .opening, .resting, .ended: return false
        case .tunnel:
            guard let data = input.readSlice(length: input.readableBytes), data.readableBytes > 0 else {
                return false
            }
            receiver.tunnelBrought(data)
        case .head:
            guard let bytes = try search.take(from: &input) else { return false }
            guard let head = try? MessageHead(bytes) else {
                throw .badAnswer(
                    "has a malformed header field, or more than \(MessageHead.maximumFields) fields"
                )
            }
            try take(UpstreamResponse(head, toHead: answersHead), receiver)
        case .body(var reader):
            guard let piece = try reader.next(&input) else {
                state = .body(reader)
                return false
            }
            state = .body(reader)
            switch piece {
            case .data(let data): receiver.answerWent(on: data)
            case .end(let trailers):
                state = .resting
                self.receiver = nil
                receiver.answerEnded(trailers)
            }
        }
        return true
    }

    private func take(
        _ answer: UpstreamResponse,
        _ receiver: any UpstreamResponseDelegate
    ) throws(ForwardingError) {
        if answer.isInterim {
            interimCount += 1
            guard interimCount <= UpstreamConnection.maximumInterim else {
                throw .badAnswer("begins with too many interim ones")
            }
        } else {
            state = .body(BodyReader(answer.framing))
        }
        receiver.answerBegan(answer)
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        // A connection through a forward proxy is already active.
        if context.channel.isActive { opened(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        opened(context)
        context.fireChannelActive()
    }

    private func opened(_ context: ChannelHandlerContext) {
        // The request has timed out, so the connection is not needed.
        if case .ended = state { return context.close(promise: nil) }
        channel = context.channel
        if tls == nil { becomeReady() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? TLSUserEvent, case .handshakeCompleted = event { handshakeEnded(context) }
        context.fireUserInboundEventTriggered(event)
    }

    private func handshakeEnded(_ context: ChannelHandlerContext) {
        guard case .opening(let ready) = state else { return }
        if let rejectionReason = tls?.rejectionReason(to: security?.peerCertificate) {
            state = .ended
            ready.fail(ForwardingError(502, rejectionReason))
            return context.close(promise: nil)
        }
        _ = try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        becomeReady()
    }

    private func becomeReady() {
        guard case .opening(let ready) = state else { return }
        state = .resting
        ready.succeed(self)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        hasHeard = true
        if case .resting = state { return fail(.badAnswer("arrived without a request")) }
        if input.readableBytes == 0 { input = bytes } else { input.writeBuffer(&bytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { pump() }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { receiver?.upstreamBecameWritable() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard case .opening(let ready) = state else { return end(.closed) }
        state = .ended
        channel = nil
        ready.fail(ForwardingError(502, "the upstream closed the connection before it was ready"))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .opening(let ready) = state {
            state = .ended
            ready.fail(error)
        } else {
            end(.brokenOff)
        }
        context.close(promise: nil)
    }

    /// Passes on the bytes that were read before the connection ended.
    private func end(_ ending: Ending) {
        channel = nil
        pool?.forget(self)
        switch state {
        case .opening, .resting, .ended: state = .ended
        case .head, .body, .tunnel:
            self.ending = self.ending ?? ending
            pump()
        }
    }

    /// Tells the receiver that the connection has ended, after all input was passed on.
    private func conclude(_ ending: Ending) {
        let receiver = receiver
        var isWhole = false
        if case .body(var reader) = state, ending == .closed { isWhole = reader.finish() }
        state = .ended
        self.receiver = nil
        if isWhole { receiver?.answerEnded([]) } else { receiver?.upstreamEnded(nil) }
    }

    private func fail(_ fault: ForwardingError) {
        let receiver = receiver
        pool?.forget(self)
        close()
        receiver?.upstreamEnded(fault)
    }
}
