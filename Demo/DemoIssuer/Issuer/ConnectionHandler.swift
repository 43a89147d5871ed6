// SPDX-License-Identifier: MIT

import NIOCore
import NIOHTTP1

/// The handler of one connection, which answers one request after the other.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    private static let maximumBodySize = 1 << 20

    private weak let issuer: DemoIssuer?
    private let connection: Int
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(issuer: DemoIssuer, connection: Int) {
        self.issuer = issuer
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let newHead):
            head = newHead
            body = []
        case .body(let part):
            body.append(contentsOf: part.readableBytesView)
            if body.count > ConnectionHandler.maximumBodySize { context.close(promise: nil) }
        case .end:
            guard let head else { return }
            answer(head, on: context.channel)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(_ head: HTTPRequestHead, on channel: any Channel) {
        guard let issuer else { return channel.close(promise: nil) }
        var request = IssuerRequest(
            connection: connection,
            method: head.method.rawValue,
            target: head.uri,
            headers: head.headers.map { IssuerRequest.Header(name: $0.name, value: $0.value) },
            body: body
        )
        let delivery = AnswerDelivery(
            channel: channel,
            isClosing: !head.isKeepAlive,
            omitsBody: head.method == .HEAD
        )
        guard !request.path.hasPrefix(IssuerState.controlPrefix) else {
            if request.method == "POST", request.path == "/_control/release" { issuer.release() }
            return delivery.send(issuer.withState { $0.control(request) }, .complete)
        }
        let disturbance = issuer.receive(&request)
        let final = request
        let held = disturbance.isHeld ? issuer.hold() : nil
        delivery.after(disturbance.delayBefore) {
            let own = disturbance.isProcessed ? issuer.withState { $0.answer(final) } : nil
            guard let reply = disturbance.reply ?? own else { return channel.close(promise: nil) }
            delivery.after(disturbance.delay) {
                guard let held else { return delivery.send(reply, disturbance.ending) }
                held.ready { delivery.send(reply, disturbance.ending) }
            }
        }
    }
}
