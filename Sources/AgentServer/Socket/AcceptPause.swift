// SPDX-License-Identifier: MIT

import Glibc
import NIOCore

/// Stops accepting for a moment when the system has no descriptor left.
///
/// The peer stays in the queue, so the socket stays readable: without a pause the loop would spin. NIO's own
/// `AcceptBackoffHandler` only delays reads that the channel asks for, and after a failed accept it asks for none.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = Channel

    /// Half of the second within which the agent must accept again once there are descriptors.
    private static let length = TimeAmount.milliseconds(500)

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode)
        else { return }
        let channel = context.channel
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.scheduleTask(in: Self.length) {
            try channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
