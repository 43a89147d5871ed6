// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix

/// Passes bytes on between clients and a server on this machine; while it is held, the server seems to hang to its clients.
package final class HeldRelay: Sendable {
    package let port: Int
    private let server: any Channel
    private let gate: Gate

    /// Listens on a free loopback port for those who want the server at `port`.
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

    /// Passes nothing on until ``release()``.
    package func hold() async throws {
        try await server.eventLoop.submit { [gate] in gate.hold() }.get()
    }

    /// Passes everything on later than it comes, in either direction.
    package func delay(by time: TimeAmount) async throws {
        try await server.eventLoop.submit { [gate] in gate.delay = time }.get()
    }

    /// Passes on what has come meanwhile, and what comes from now on.
    package func release() async throws {
        try await server.eventLoop.submit { [gate] in gate.release() }.get()
    }
}

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
