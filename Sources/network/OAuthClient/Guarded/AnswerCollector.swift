// SPDX-License-Identifier: MIT

import NIOCore
import NIOHTTP1
import NIOTLS

/// The last handler of a guarded connection: waits for the handshake, then for the answer.
final class AnswerCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let readsBody: Bool
    private let onHandshake: () -> Void
    private let onAnswer: (ServerResponse) -> Void
    private let onEnd: (any Error) -> Void
    private var answer: IncomingResponse?
    private var isOver = false

    /// - Parameters:
    ///   - readsBody: whether the body of the answer is wanted.
    ///   - onHandshake: called when TLS knows the server.
    ///   - onAnswer: called with the answer.
    ///   - onEnd: called in its place, with the reason, when the connection ends or makes no sense.
    init(
        readsBody: Bool,
        onHandshake: @escaping () -> Void = {},
        onAnswer: @escaping (ServerResponse) -> Void,
        onEnd: @escaping (any Error) -> Void
    ) {
        self.readsBody = readsBody
        self.onHandshake = onHandshake
        self.onAnswer = onAnswer
        self.onEnd = onEnd
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent { onHandshake() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        do throws(TransportFailure) {
            try take(unwrapInboundIn(data))
        } catch {
            end(error)
        }
    }

    private func take(_ part: HTTPClientResponsePart) throws(TransportFailure) {
        if case .head(let head) = part {
            answer = try IncomingResponse(head.status, head.headers, readsBody: readsBody)
        }
        if case .body(let bytes) = part { try answer?.take(bytes) }
        // Where the body is not wanted, the head is the end.
        if case .end = part { finish() } else if !readsBody { finish() }
    }

    private func finish() {
        guard let answer else { return }
        isOver = true
        onAnswer(answer.reply)
    }

    /// Also when TLS was not ended in order: where only the end says how long the answer is, that may be anybody's.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(ChannelError.eof)
    }

    private func end(_ reason: any Error) {
        guard !isOver else { return }
        isOver = true
        onEnd(reason)
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Adds what writes a request and reads its answer, with `collector` at the end.
    func addHTTPHandlers(_ collector: AnswerCollector) throws {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = HTTPLimits.headers
        limits.maxHeaderListSize = HTTPLimits.headers
        limits.maxHeaderFieldCount = HTTPLimits.headerCount
        try addHandler(HTTPRequestEncoder())
        try addHandler(ByteToMessageHandler(HTTPResponseDecoder(limitConfiguration: limits)))
        try addHandler(collector)
    }
}
