// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// A server whose responses are bytes that a test provides, which need not be valid HTTP.
package final class RawUpstream: Sendable {
    /// The response to a request.
    package enum Reply: Sendable {
        case bytes(String)
        /// The bytes are sent, then the connection is closed.
        case last(String)
        /// The bytes are sent, then the connection is reset, as by a server that has not read everything.
        case reset(String)
        /// Nothing is sent, and the connection is closed.
        case close
        /// Nothing is sent, and the connection stays open.
        case silence
    }

    package let port: Int
    private let server: any Channel
    private let seen = Mutex<[String]>([])
    private let connected = Mutex(0)

    /// Starts a server on a free loopback port, which calls `answer` with each request, head and body.
    ///
    /// Requests for which `isAnsweredEarly` returns `true` are answered after their head. No body may follow.
    package static func start(
        early isAnsweredEarly: @escaping @Sendable (String) -> Bool = { _ in false },
        _ answer: @escaping @Sendable (String) -> Reply
    ) async throws -> RawUpstream {
        let shared = Shared()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    shared.upstream?.connected.withLock { $0 += 1 }
                    let handler = RawUpstreamHandler(early: isAnsweredEarly) { request in
                        shared.upstream?.seen.withLock { $0.append(request) }
                        return answer(request)
                    }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let upstream = RawUpstream(server)
        shared.take(upstream)
        return upstream
    }

    /// A weak reference to the upstream, set once it listens.
    private final class Shared: Sendable {
        private let found = Mutex(WeakUpstream())

        var upstream: RawUpstream? { found.withLock { $0.upstream } }

        func take(_ upstream: RawUpstream) { found.withLock { $0.upstream = upstream } }
    }

    private struct WeakUpstream {
        weak var upstream: RawUpstream?
    }

    private init(_ server: any Channel) {
        self.server = server
        port = server.localAddress?.port ?? 0
    }

    deinit { server.close(promise: nil) }

    /// The requests so far, as received.
    package var requests: [String] { seen.withLock { $0 } }

    /// The number of connections so far.
    package var connections: Int { connected.withLock { $0 } }

    package var url: String { "http://127.0.0.1:\(port)" }
}

/// The handler of one connection.
///
/// Unchecked: confined to the event loop of its connection.
private final class RawUpstreamHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private let isAnsweredEarly: (String) -> Bool
    private let answer: (String) -> RawUpstream.Reply
    private var input: [UInt8] = []
    /// The length of the incoming request once it is known, so that a long body is not searched at every
    /// read.
    private var length: Int?

    init(
        early isAnsweredEarly: @escaping (String) -> Bool,
        _ answer: @escaping (String) -> RawUpstream.Reply
    ) {
        self.isAnsweredEarly = isAnsweredEarly
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        input += unwrapInboundIn(data).readableBytesView
        while let request = takeRequest() {
            switch answer(request) {
            case .bytes(let text): context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
            case .last(let text):
                context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
                context.close(promise: nil)
            case .reset(let text):
                let atOnce = linger(l_onoff: 1, l_linger: 0)
                _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(atOnce)
                context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
                context.close(promise: nil)
            case .close: context.close(promise: nil)
            case .silence: break
            }
        }
    }

    /// Removes and returns a whole request: its head and the body announced by the head.
    private func takeRequest() -> String? {
        if length == nil, let end = found("\r\n\r\n") {
            let text = String(decoding: input[..<end], as: UTF8.self)
            let head = text.lowercased()
            if isAnsweredEarly(text) {
                length = end
            } else if head.contains("transfer-encoding: chunked") {
                guard let last = found("0\r\n\r\n", after: end) else { return nil }
                length = last
            } else {
                let line = head.split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }
                length = end + (line.flatMap { Int($0.dropFirst(16)) } ?? 0)
            }
        }
        guard let length, input.count >= length else { return nil }
        let request = String(decoding: input[..<length], as: UTF8.self)
        input.removeFirst(length)
        self.length = nil
        return request
    }

    /// Returns the end of `text` in the input, or `nil`.
    private func found(_ text: String, after start: Int = 0) -> Int? {
        let wanted = Array(text.utf8)
        var place = start
        while place + wanted.count <= input.count {
            if input[place..<(place + wanted.count)].elementsEqual(wanted) { return place + wanted.count }
            place += 1
        }
        return nil
    }
}
