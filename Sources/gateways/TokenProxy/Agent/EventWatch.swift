// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore

/// A subscription to the agent's events, so that no token is used after a session has changed.
///
/// Unchecked: confined to the event loop.
final class EventWatch: @unchecked Sendable {
    /// The closure for each event, and for the beginning and the loss of the subscription.
    ///
    /// Cached tokens are invalid from then on.
    private let changed: () -> Void
    private let link: AgentConnectionPool
    private var channel: (any Channel)?
    private var isOpening = false
    private var nextTry = NIODeadline.uptimeNanoseconds(0)
    /// Whether events are received, so that silence means that nothing has happened.
    private(set) var isListening = false

    init(link: AgentConnectionPool, changed: @escaping () -> Void) {
        self.link = link
        self.changed = changed
    }

    /// Subscribes unless already subscribed, at most once a second.
    func begin() {
        guard !isListening, !isOpening, NIODeadline.now() >= nextTry else { return }
        isOpening = true
        nextTry = .now() + .seconds(1)
        link.open { [self] result in
            isOpening = false
            guard case .success(let channel) = result else { return }
            self.channel = channel
            do {
                try channel.pipeline.syncOperations.addHandler(EventStream(watch: self))
            } catch {
                return channel.close(promise: nil)
            }
            let request = AgentRequest(.get, "events")
            channel.writeAndFlush(ByteBuffer(string: request.head), promise: nil)
        }
    }

    func end() {
        nextTry = .distantFuture
        channel?.close(promise: nil)
    }

    fileprivate func began() {
        isListening = true
        changed()
    }

    fileprivate func heard() { changed() }

    fileprivate func broke(isRefused: Bool) {
        isListening = false
        channel = nil
        // A [[socket]] reports no events, so trying again in a second would not help.
        if isRefused { nextTry = .now() + .seconds(60) }
        changed()
    }
}

/// The response to `GET /v1/events`.
///
/// Only the arrival of an event matters, not its contents.
///
/// Unchecked: confined to the event loop.
private final class EventStream: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private let watch: EventWatch
    private var decoder = ResponseDecoder()
    private var isRefused = false

    init(watch: EventWatch) {
        self.watch = watch
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        decoder.append(unwrapInboundIn(data).readableBytesView)
        do throws(ConnectionFailure) {
            while let part = try decoder.next() {
                switch part {
                case .head(let head):
                    guard head.status == 200 else {
                        isRefused = true
                        return context.close(promise: nil)
                    }
                    watch.began()
                case .body: watch.heard()
                case .end: context.close(promise: nil)
                }
            }
        } catch {
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        watch.broke(isRefused: isRefused)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
