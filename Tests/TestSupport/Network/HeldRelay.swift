// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix

/// A relay between clients and a server on this machine, which can be held so that the server seems to hang.
package final class HeldRelay: Sendable {
    package let port: Int
    private let server: any Channel
    private let gate: Gate

    /// Starts a relay on a free loopback port to the server at `port`.
    package static func start(to port: Int) async throws -> HeldRelay {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let gate = Gate()
        let server = try await ServerBootstrap(group: loop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { client in
                ClientBootstrap(group: loop).connect(host: "127.0.0.1", port: port).flatMapThrowing {
                    server in
                    try client.pipeline.syncOperations.addHandler(RelayHandler(to: server, through: gate))
                    try server.pipeline.syncOperations.addHandler(RelayHandler(to: client, through: gate))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        return HeldRelay(server, gate)
    }

    private init(_ server: any Channel, _ gate: Gate) {
        self.server = server
        self.gate = gate
        port = server.localAddress?.port ?? 0
    }

    deinit { server.close(promise: nil) }

    /// Forwards nothing until ``release()``.
    package func hold() async throws {
        try await server.eventLoop.submit { [gate] in gate.hold() }.get()
    }

    /// Delays everything in either direction.
    package func delay(by time: TimeAmount) async throws {
        try await server.eventLoop.submit { [gate] in gate.delay = time }.get()
    }

    /// Forwards what was held, and everything from now on.
    package func release() async throws {
        try await server.eventLoop.submit { [gate] in gate.release() }.get()
    }
}

/// A gate that holds or delays bytes.
///
/// Unchecked: confined to the relay's event loop.
private final class Gate: @unchecked Sendable {
    var delay = TimeAmount.zero
    private var isHeld = false
    private var waiting: [(bytes: ByteBuffer, receiver: any Channel)] = []

    func hold() { isHeld = true }

    func pass(_ bytes: ByteBuffer, to receiver: any Channel) {
        guard isHeld else {
            guard delay > .zero else { return receiver.writeAndFlush(bytes, promise: nil) }
            receiver.eventLoop.scheduleTask(in: delay) { receiver.writeAndFlush(bytes, promise: nil) }
            return
        }
        waiting.append((bytes, receiver))
    }

    func release() {
        isHeld = false
        for (bytes, receiver) in waiting { receiver.writeAndFlush(bytes, promise: nil) }
        waiting = []
    }
}

/// A handler that forwards bytes to the other side.
///
/// Unchecked: confined to the relay's event loop.
private final class RelayHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private let receiver: any Channel
    private let gate: Gate

    init(to receiver: any Channel, through gate: Gate) {
        self.receiver = receiver
        self.gate = gate
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        gate.pass(unwrapInboundIn(data), to: receiver)
    }

    func channelInactive(context: ChannelHandlerContext) {
        receiver.close(promise: nil)
    }
}
