// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server on 127.0.0.1 that does to each request what the test says, byte by byte.
final class TinyServer: Sendable {
    enum Action: Sendable {
        case send(String)
        case close
        /// A connection reset instead of an orderly end.
        case reset
        /// The text again and again, with pauses. Each time waits until the client has read the previous text.
        case trickle(String, every: TimeAmount)
    }

    private struct Record {
        var requests: [String] = []
        var bytes = 0
        var connections = 0
    }

    private let record = Mutex(Record())
    private let respond: @Sendable (String) -> [Action]
    private let channel = Mutex<(any Channel)?>(nil)

    /// The requests received so far, decrypted.
    var requests: [String] { record.withLock { $0.requests } }
    var bytesReceived: Int { record.withLock { $0.bytes } }
    var connections: Int { record.withLock { $0.connections } }

    private init(respond: @escaping @Sendable (String) -> [Action]) {
        self.respond = respond
    }

    /// Starts a server, with TLS if a certificate and its key are given.
    ///
    /// The first `silent` connections get no TLS. Port 0 is any.
    static func start(
        certificate: String? = nil,
        key: String? = nil,
        maximumTLSVersion: TLSVersion? = nil,
        closesAtOnce: Bool = false,
        silent: Int = 0,
        host: String = "127.0.0.1",
        port: Int = 0,
        respond: @escaping @Sendable (String) -> [Action]
    ) async throws -> TinyServer {
        let server = TinyServer(respond: respond)
        let context = try makeContext(certificate, key, maximumTLSVersion)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 64)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context, server.connections + 1 > silent {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    try channel.pipeline.syncOperations.addHandler(
                        TinyHandler(server: server, closesAtOnce: closesAtOnce)
                    )
                }
            }
        let channel = try await bootstrap.bind(host: host, port: port).get()
        server.channel.withLock { $0 = channel }
        return server
    }

    var port: Int { channel.withLock { $0?.localAddress?.port } ?? 0 }

    func stop() async {
        let channel = channel.withLock { $0 }
        try? await channel?.close().get()
    }

    private static func makeContext(
        _ certificate: String?,
        _ key: String?,
        _ maximum: TLSVersion?
    ) throws -> NIOSSLContext? {
        guard let certificate, let key else { return nil }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8))
                .map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
        )
        configuration.minimumTLSVersion = .tlsv1
        configuration.maximumTLSVersion = maximum
        return try NIOSSLContext(configuration: configuration)
    }

    fileprivate func connected() {
        record.withLock { $0.connections += 1 }
    }

    fileprivate func received(_ count: Int) {
        record.withLock { $0.bytes += count }
    }

    fileprivate func actions(for request: String) -> [Action] {
        record.withLock { $0.requests.append(request) }
        return respond(request)
    }
}

/// A request is whole when its head, and the body its `content-length` announces, have arrived.
private final class TinyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let server: TinyServer
    private let closesAtOnce: Bool
    private var text = ""

    init(server: TinyServer, closesAtOnce: Bool) {
        self.server = server
        self.closesAtOnce = closesAtOnce
    }

    func channelActive(context: ChannelHandlerContext) {
        server.connected()
        if closesAtOnce { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        server.received(buffer.readableBytes)
        text += String(buffer: buffer)
        guard let head = text.firstRange(of: "\r\n\r\n") else { return }
        let length = text[..<head.lowerBound].split(separator: "\r\n")
            .first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) }
        guard text[head.upperBound...].utf8.count >= length ?? 0 else { return }
        let request = text
        text = ""
        for action in server.actions(for: request) { perform(action, context) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func perform(_ action: TinyServer.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .send(let text): context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        case .close: context.close(promise: nil)
        case .reset:
            let channel = context.channel
            guard let options = channel as? any SocketOptionProvider else {
                return channel.close(promise: nil)
            }
            options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
                channel.close(promise: nil)
            }
        case .trickle(let text, let delay):
            TinyHandler.trickle(ByteBuffer(string: text), every: delay, over: context.channel)
        }
    }

    /// A write fails once the client has gone, which is the end.
    private static func trickle(_ text: ByteBuffer, every delay: TimeAmount, over channel: any Channel) {
        channel.writeAndFlush(text).whenSuccess {
            channel.eventLoop.scheduleTask(in: delay) { trickle(text, every: delay, over: channel) }
        }
    }
}
