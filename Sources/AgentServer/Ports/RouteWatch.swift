// SPDX-License-Identifier: MIT

import CHardening
import NIOCore
import NIOPosix

/// Listens to the kernel's routing messages and says when the network may be back.
///
/// What could not be sent is then tried at once instead of when its backoff ends (rtnetlink(7)).
final class RouteWatch: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let onReturn: @Sendable () -> Void

    init(onReturn: @escaping @Sendable () -> Void) {
        self.onReturn = onReturn
    }

    /// Starts on `eventLoop`; `nil` if the system has no such messages or refuses them.
    static func start(
        on eventLoop: any EventLoop,
        onReturn: @escaping @Sendable () -> Void
    ) async -> (any Channel)? {
        let watch = hardening_watch_routes()
        guard watch >= 0 else { return nil }
        return try? await NIOPipeBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RouteWatch(onReturn: onReturn))
                }
            }
            .takingOwnershipOfDescriptor(input: watch)
            .get()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let message = unwrapInboundIn(data)
        let isNews = unsafe message.withUnsafeReadableBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe hardening_announces_route(start, bytes.count) != 0
        }
        if isNews { onReturn() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The kernel dropped messages (ENOBUFS): something has changed, whatever it was.
        onReturn()
    }
}
