// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import Synchronization
import Text

/// A forward proxy on 127.0.0.1 that serves CONNECT requests, unless a test sets another behavior.
package final class ConnectProxy: Sendable {
    /// The response to a request.
    package enum Behavior: Sendable {
        case relay
        /// Sends the bytes instead of a response, and waits.
        case answer(String)
        /// Sends the bytes, and closes the connection.
        case answerAndClose(String)
        /// Does nothing.
        case ignore
    }

    private struct State {
        var behavior = Behavior.relay
        var requests: [String] = []
        var relayed: [UInt8] = []
        var connections = 0
    }

    private let state = Mutex(State())
    private let channel = Mutex<(any Channel)?>(nil)
    private let credentials: String?
    /// The ports on this machine that replace other servers, by `HOST:PORT`.
    private let places: [String: Int]
    /// The port to which all connections are relayed without a request, or `nil` for a proxy.
    fileprivate let server: Int?

    private init(_ credentials: String?, _ places: [String: Int], _ server: Int?) {
        self.credentials = credentials
        self.places = places
        self.server = server
    }

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - credentials: the required `USER:PASSWORD`.
    ///   - places: the ports to which connections to `HOST:PORT` are redirected.
    ///   - server: the port of a server on this machine. With `prepare`, it then also serves TLS.
    ///   - prepare: adds TLS to a new connection.
    /// - Returns: the listening proxy.
    /// - Throws: an error if the proxy cannot listen.
    package static func start(
        credentials: String? = nil,
        places: [String: Int] = [:],
        before server: Int? = nil,
        prepare: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) async throws -> ConnectProxy {
        let proxy = ConnectProxy(credentials, places, server)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 64)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    proxy.state.withLock { $0.connections += 1 }
                    try prepare(channel)
                    try channel.pipeline.syncOperations.addHandler(ConnectHandler(proxy))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        proxy.channel.withLock { $0 = channel }
        return proxy
    }

    package var port: Int { channel.withLock { $0?.localAddress?.port } ?? 0 }
    package var connections: Int { state.withLock(\.connections) }
    /// The heads of the requests, without their empty line.
    package var requests: [String] { state.withLock(\.requests) }
    /// The bytes forwarded in either direction.
    package var relayed: String { String(decoding: state.withLock(\.relayed), as: UTF8.self) }

    package func behave(_ behavior: Behavior) {
        state.withLock { $0.behavior = behavior }
    }

    package func stop() async {
        try? await channel.withLock(\.self)?.close().get()
    }

    fileprivate func passed(_ bytes: ByteBuffer) {
        state.withLock { $0.relayed += bytes.readableBytesView }
    }

    /// Returns the behavior for a request, and the port on this machine to which it is forwarded.
    fileprivate func decision(on head: String) -> (Behavior, port: Int?) {
        let behavior = state.withLock { state in
            state.requests.append(head)
            return state.behavior
        }
        let words = head.prefix { $0 != "\r\n" }.split(separator: " ")
        guard words.count == 3, words[0] == "CONNECT" else {
            return (.answerAndClose("HTTP/1.1 405 Method Not Allowed\r\n\r\n"), nil)
        }
        if let credentials {
            let field = "\r\nProxy-Authorization: Basic \(Base64.encoded(credentials.utf8))"
            guard (head + "\r\n").contains(field + "\r\n") else {
                return (.answerAndClose("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"), nil)
            }
        }
        let target = String(words[1])
        return (behavior, places[target] ?? target.split(separator: ":").last.flatMap { Int($0) })
    }
}

private final class ConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let proxy: ConnectProxy
    private var received = ""
    private var hasAsked = false
    private var waiting = ByteBuffer()

    init(_ proxy: ConnectProxy) {
        self.proxy = proxy
    }

    func channelActive(context: ChannelHandlerContext) {
        if let server = proxy.server {
            hasAsked = true
            relay(to: server, context)
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        guard !hasAsked else {
            waiting.writeBuffer(&bytes)
            return
        }
        received += String(buffer: bytes)
        guard let end = received.firstRange(of: "\r\n\r\n") else { return }
        hasAsked = true
        let (behavior, port) = proxy.decision(on: String(received[..<end.lowerBound]))
        switch behavior {
        case .relay: relay(to: port ?? 0, context)
        case .answer(let text): context.channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        case .answerAndClose(let text):
            let channel = context.channel
            channel.writeAndFlush(ByteBuffer(string: text)).whenComplete { _ in channel.close(promise: nil) }
        case .ignore: break
        }
    }

    private func relay(to port: Int, _ context: ChannelHandlerContext) {
        let client = context.channel
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        ClientBootstrap(group: context.eventLoop).connect(host: "127.0.0.1", port: port).whenComplete {
            result in
            guard case .success(let server) = result else {
                client.writeAndFlush(ByteBuffer(string: "HTTP/1.1 502 Bad Gateway\r\n\r\n")).whenComplete {
                    _ in
                    client.close(promise: nil)
                }
                return
            }
            bound.value.join(client, server)
        }
    }

    private func join(_ client: any Channel, _ server: any Channel) {
        if proxy.server == nil {
            let answer = ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n")
            client.writeAndFlush(answer, promise: nil)
        }
        let (there, back) = (PassingHandler(to: server, proxy), PassingHandler(to: client, proxy))
        guard (try? server.pipeline.syncOperations.addHandler(back)) != nil,
            (try? client.pipeline.syncOperations.addHandler(there)) != nil
        else { return client.close(promise: nil) }
        if waiting.readableBytes > 0 {
            proxy.passed(waiting)
            server.writeAndFlush(waiting, promise: nil)
        }
        client.pipeline.syncOperations.removeHandler(self).whenFailure { _ in client.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

private final class PassingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let receiver: any Channel
    private let proxy: ConnectProxy

    init(to receiver: any Channel, _ proxy: ConnectProxy) {
        self.receiver = receiver
        self.proxy = proxy
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        proxy.passed(bytes)
        receiver.writeAndFlush(bytes, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        receiver.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
