// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import NIOPosix
import Text

/// A client of the agent's socket that sends raw bytes, which need not be valid HTTP.
package struct ConnectedAgentSocket: Sendable {
    package struct Reply: Equatable, Sendable {
        package var status: Int
        package var head: String
        package var body: [UInt8]

        package var text: String { String(decoding: body, as: UTF8.self) }
        package var json: JSONObject? { (try? JSONValue(parsing: body))?.object }
    }

    package var path: String

    package init(path: String) {
        self.path = path
    }

    /// Sends one well-formed request on its own connection, and returns the response.
    package func request(
        _ method: String = "GET",
        _ target: String,
        headers: [String] = [],
        body: String = "",
        within limit: Duration = .seconds(300)
    ) async throws -> Reply {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: tokenagent", "Connection: close"] + headers
        if !body.isEmpty {
            lines += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"]
        }
        let raw = lines.joined(separator: "\r\n") + "\r\n\r\n" + body
        let bytes = try await exchange(Array(raw.utf8), within: limit)
        guard let reply = Reply(bytes) else { throw UnreadableReply(bytes: bytes) }
        return reply
    }

    /// Sends `bytes` and returns everything received until the agent closes the connection.
    package func exchange(_ bytes: [UInt8], within limit: Duration = .seconds(300)) async throws -> [UInt8] {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: [UInt8].self)
        let timer = loop.scheduleTask(in: TimeAmount(limit)) { promise.fail(NoReply(limit: limit)) }
        defer { timer.cancel() }
        let channel: any Channel
        do {
            channel = try await connect(on: loop, promise)
        } catch {
            promise.fail(error)
            throw error
        }
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        defer { channel.close(promise: nil) }
        return try await promise.futureResult.get()
    }

    /// Connects, and tries again where a blocking client would wait for a full queue.
    private func connect(
        on loop: any EventLoop,
        _ promise: EventLoopPromise<[UInt8]>
    ) async throws -> any Channel {
        let bootstrap = ClientBootstrap(group: loop)
            .channelOption(ChannelOptions.allowRemoteHalfClosure, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(promise: promise))
                }
            }
        let channel = try await Polling.value {
            do {
                return try await bootstrap.connect(unixDomainSocketPath: path).get()
            } catch let error as IOError where error.errnoCode == EAGAIN {
                return nil
            }
        }
        guard let channel else { throw NoReply(limit: .seconds(120)) }
        return channel
    }
}

extension ConnectedAgentSocket.Reply {
    /// Parses a response.
    ///
    /// The body is read to the end of the connection, and chunks are joined.
    package init?(_ bytes: [UInt8]) {
        let separator = Array("\r\n\r\n".utf8)
        guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: separator) }) else {
            return nil
        }
        head = String(decoding: bytes[..<end], as: UTF8.self)
        guard let code = head.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
        status = code
        let rest = bytes[(end + separator.count)...]
        let isChunked = head.lowercased().contains("transfer-encoding: chunked")
        body = isChunked ? Self.joined(rest) : Array(rest)
    }

    private static func joined(_ chunked: ArraySlice<UInt8>) -> [UInt8] {
        var rest = chunked
        var body: [UInt8] = []
        while let end = rest.firstIndex(of: UInt8(ascii: "\r")),
            let count = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), count > 0
        {
            rest = rest[(end + 2)...]
            body += rest.prefix(count)
            rest = rest.dropFirst(count + 2)
        }
        return body
    }
}

/// An error: the bytes are not an HTTP response.
package struct UnreadableReply: Error, CustomStringConvertible {
    var bytes: [UInt8]
    package var description: String { "no HTTP answer: «\(String(decoding: bytes, as: UTF8.self))»" }
}

/// An error: the agent did not close the connection in time.
package struct NoReply: Error {
    var limit: Duration
}

private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let promise: EventLoopPromise<[UInt8]>
    private var bytes: [UInt8] = []

    init(promise: EventLoopPromise<[UInt8]>) {
        self.promise = promise
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes += unwrapInboundIn(data).readableBytesView
    }

    func channelInactive(context: ChannelHandlerContext) {
        promise.succeed(bytes)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The agent resets a connection after the response if it does not read the rest of the input.
        context.close(promise: nil)
    }
}
