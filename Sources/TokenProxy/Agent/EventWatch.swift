// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore

/// Hears of everything that happens to the agent's sessions, so that no token is used after it.
///
/// Unchecked: confined to the event loop.
final class EventWatch: @unchecked Sendable {
    /// Once heard nothing is known any more; also when the watch begins and when it breaks off.
    private let changed: () -> Void
    private let link: AgentConnectionPool
    private var channel: (any Channel)?
    private var isOpening = false
    private var nextTry = NIODeadline.uptimeNanoseconds(0)
    /// Whether events are heard, so that silence means that nothing has happened.
    private(set) var isListening = false

    init(link: AgentConnectionPool, changed: @escaping () -> Void) {
        self.link = link
        self.changed = changed
    }

    /// Begins to listen, unless it does; tries at most once a second.
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
        // A [[socket]] has no events to tell; it will not have any in a second either.
        if isRefused { nextTry = .now() + .seconds(60) }
        changed()
    }
}

/// The answer to `GET /v1/events`, of which only the fact matters that something was said.
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
