// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// What hears of an answer.
protocol UpstreamResponseDelegate: AnyObject {
    /// Whether a further piece of the answer can be taken.
    var takesAnswer: Bool { get }
    func answerBegan(_ answer: UpstreamResponse)
    func answerWent(on data: ByteBuffer)
    func answerEnded(_ trailers: [MessageField])
    /// For now nothing more is handed on.
    func answerPaused()
    /// The upstream opened a websocket: bytes of it.
    func tunnelBrought(_ data: ByteBuffer)
    /// The upstream takes bytes again.
    func upstreamBecameWritable()
    /// No more comes; `fault` is nil where the connection ended without a mistake of the upstream.
    func upstreamEnded(_ fault: HTTPMessageError?)
}

/// One connection to an upstream, for one request at a time.
///
/// It reads only what its receiver takes. Unchecked: confined to the event loop.
final class UpstreamConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private enum State {
        /// Connecting, with TLS if there is any.
        case opening(EventLoopPromise<UpstreamConnection>)
        /// No request is under way; nothing may come.
        case resting
        case head
        case body(BodyReader)
        case tunnel
        case ended
    }

    /// How the upstream ended the connection.
    private enum Ending {
        case closed
        /// By a reset, or without the end of TLS: what ends only with the connection is cut off then.
        case brokenOff
    }

    private static let longestHead = 65_536
    /// Interim answers to one request.
    private static let mostInterim = 16

    private let tls: UpstreamTLS?
    private var security: NIOSSLClientHandler?
    private var state: State
    private var channel: (any Channel)?
    private var input = ByteBuffer()
    private var search = HeadSearch(longest: UpstreamConnection.longestHead)
    /// Nil once it has the end of its answer: what becomes of the connection is not its concern any more.
    private weak var receiver: (any UpstreamResponseDelegate)?
    private weak var pool: UpstreamPool?
    private var answersHead = false
    private var interimCount = 0
    private let intake = ReentrancyGuard()
    /// Whether it had another request before.
    var isReused = false
    /// Nil as long as the connection is there.
    private var ending: Ending?
    /// Whether a byte of the present answer has come.
    private(set) var hasHeard = false

    init(tls: UpstreamTLS?, ready: EventLoopPromise<UpstreamConnection>) {
        self.tls = tls
        state = .opening(ready)
    }

    /// Takes its place in the pipeline of a connection to the upstream.
    func join(_ channel: any Channel) throws {
        security = try tls?.add(to: channel)
        try channel.pipeline.syncOperations.addHandler(self)
    }

    var isUsable: Bool {
        guard case .resting = state else { return false }
        return channel?.isActive == true && input.readableBytes == 0
    }

    /// Whether it takes more bytes now.
    var isWritable: Bool { channel?.isWritable == true }

    // MARK: What is done with it

    /// Sends the head of a request; its answer goes to `receiver`.
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

    /// Waits for the next request, and notices if the upstream ends the connection.
    func rest(in pool: UpstreamPool) {
        self.pool = pool
        channel?.read()
    }

    /// Closes without a word to the receiver.
    func close() {
        receiver = nil
        state = .ended
        channel?.close(promise: nil)
        channel = nil
    }

    /// From here on both sides send what they like.
    func becomeTunnel() { state = .tunnel }

    /// Hands on what has come as far as the receiver takes it, then reads more.
    func pump() {
        intake.run {
            do throws(HTTPMessageError) {
                try handOn()
            } catch {
                fail(error.status == 502 ? error : .badAnswer("is broken: \(error.message)"))
            }
        }
    }

    private func handOn() throws(HTTPMessageError) {
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
        // While it rests it reads already, to notice the end.
        if case .resting = state { return }
        channel?.read()
    }

    /// Hands on one piece; `false` if there is none.
    private func step(_ receiver: any UpstreamResponseDelegate) throws(HTTPMessageError) -> Bool {
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
                    "has a line that is no field, or more than \(MessageHead.mostFields) of them"
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
    ) throws(HTTPMessageError) {
        if answer.isInterim {
            interimCount += 1
            guard interimCount <= UpstreamConnection.mostInterim else { throw .badAnswer("never begins") }
        } else {
            state = .body(BodyReader(answer.framing))
        }
        receiver.answerBegan(answer)
    }

    // MARK: What it hears

    func handlerAdded(context: ChannelHandlerContext) {
        // A connection through a proxy is there already.
        if context.channel.isActive { opened(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        opened(context)
        context.fireChannelActive()
    }

    private func opened(_ context: ChannelHandlerContext) {
        // Nobody waits for it any more.
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
        if let objection = tls?.objection(to: security?.peerCertificate) {
            state = .ended
            ready.fail(HTTPMessageError(502, objection))
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
        if case .resting = state { return fail(.badAnswer("comes without a request")) }
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
        ready.fail(HTTPMessageError(502, "the upstream ended the connection before it was ready"))
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

    /// Hands on what was read before the connection ended.
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

    /// Everything that was read has been handed on, and no more comes.
    private func conclude(_ ending: Ending) {
        let receiver = receiver
        var isWhole = false
        if case .body(var reader) = state, ending == .closed { isWhole = reader.finish() }
        state = .ended
        self.receiver = nil
        if isWhole { receiver?.answerEnded([]) } else { receiver?.upstreamEnded(nil) }
    }

    private func fail(_ fault: HTTPMessageError) {
        let receiver = receiver
        pool?.forget(self)
        close()
        receiver?.upstreamEnded(fault)
    }
}
