// SPDX-License-Identifier: MIT

import ExchangeGuard
import NIOCore

/// Speaks with the guard of a connection: above it the bytes are those that the server and we exchange.
final class GuardFraming: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var context: ChannelHandlerContext?
    private var received = ByteBuffer()
    /// The first bytes for the server: a client's greeting, with its random value (RFC 8446 §4.1.2).
    private var greeting: [UInt8] = []
    /// Whether a part of the request may have reached the server.
    private(set) var hasBegun = false

    /// Before the random value: the heads of a record and of a message, and a version.
    private static let randomPlace = 5 + 4 + 2
    private static let randomCount = 32

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    /// The random value with which TLS has begun; `nil`: it has not.
    var clientRandom: [UInt8]? {
        let end = GuardFraming.randomPlace + GuardFraming.randomCount
        guard greeting.count == end else { return nil }
        return Array(greeting[GuardFraming.randomPlace..<end])
    }

    /// Names the moment after which nothing more is sent; the request comes next.
    func arm(_ arming: GuardArming) {
        send(arming.frame)
    }

    /// Says that the request is complete.
    func endRequest() {
        send(GuardFrame.whole.head(0))
    }

    /// Says that the answer is here, and ends the connection without a word to the server.
    func finish() {
        send(GuardFrame.done.head(0))
        context?.close(promise: nil)
    }

    private func send(_ frame: [UInt8]) {
        context?.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: frame)), promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = unwrapOutboundIn(data)
        let end = GuardFraming.randomPlace + GuardFraming.randomCount
        greeting += bytes.readableBytesView.prefix(end - greeting.count)
        while bytes.readableBytes > GuardFrame.limit, let part = bytes.readSlice(length: GuardFrame.limit) {
            write(context, part, nil)
        }
        write(context, bytes, promise)
    }

    private func write(
        _ context: ChannelHandlerContext,
        _ part: ByteBuffer,
        _ promise: EventLoopPromise<Void>?
    ) {
        let head = ByteBuffer(bytes: GuardFrame.outgoing.head(part.readableBytes))
        context.write(wrapOutboundOut(head), promise: nil)
        context.write(wrapOutboundOut(part), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        while let (kind, bytes) = nextFrame() {
            switch kind {
            case .incoming: context.fireChannelRead(wrapInboundOut(bytes))
            case .sending: hasBegun = true
            case .order, .outgoing, .arming, .whole, .done: return context.close(promise: nil)
            }
        }
        received.discardReadBytes()
    }

    private func nextFrame() -> (GuardFrame, ByteBuffer)? {
        var count = 0
        guard let head = received.getBytes(at: received.readerIndex, length: GuardFrame.headCount),
            let kind = GuardFrame(head: head, count: &count),
            received.readableBytes >= GuardFrame.headCount + count
        else { return nil }
        received.moveReaderIndex(forwardBy: GuardFrame.headCount)
        return received.readSlice(length: count).map { (kind, $0) }
    }
}
