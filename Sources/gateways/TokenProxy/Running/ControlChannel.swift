// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text

/// The socket to `tokenctl`, which sends tables and receives the results.
///
/// The process ends when the socket closes.
///
/// Unchecked: confined to the event loop.
final class ControlChannel: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private let proxy: Proxy
    private var input = ByteBuffer()
    private var channel: (any Channel)?
    private var isApplying = false
    private let ended: () -> Void

    init(proxy: Proxy, ended: @escaping () -> Void) {
        self.proxy = proxy
        self.ended = ended
    }

    /// Activates the tables in a line and sends the result.
    func apply(_ line: [UInt8]) {
        guard let message = ListenersSetupMessage(parsing: line) else {
            return say(.failure(AgentError(.internal, "cannot parse the tables")))
        }
        isApplying = true
        proxy.apply(message) { [self] result in
            isApplying = false
            say(result)
            takeLines()
        }
    }

    private func say(_ result: Result<[ListeningPlaceMessage], AgentError>) {
        let message = ListeningResultMessage {
            switch result {
            case .success(let places): $0.listening = places
            case .failure(let error):
                $0.error = FailureMessage {
                    $0.code = error.code
                    $0.message = error.message
                    $0.remedy = error.remedy
                }
            }
        }
        channel?.writeAndFlush(ByteBuffer(bytes: message.json.serialized + [0x0A]), promise: nil)
    }

    private func takeLines() {
        while !isApplying, let feed = input.readableBytesView.firstIndex(of: 0x0A) {
            let count = feed - input.readableBytesView.startIndex
            guard let line = input.readBytes(length: count) else { return }
            input.moveReaderIndex(forwardBy: 1)
            apply(line)
        }
    }

    func handlerAdded(context: ChannelHandlerContext) { channel = context.channel }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        input.writeBuffer(&bytes)
        guard input.readableBytes <= ProxyProgram.maximumLineLength else {
            return context.close(promise: nil)
        }
        takeLines()
    }

    func channelInactive(context: ChannelHandlerContext) {
        channel = nil
        proxy.end(ended)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
