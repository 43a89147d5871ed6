// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import Text
import TokenCore

@testable import OAuthClient

/// A TCP connection to this machine that sends bytes as they are and reads to the end.
enum RawConnection {
    /// Sends `text` and returns everything received until the other side closes or the caller's task is canceled.
    static func exchange(host: String = "127.0.0.1", port: Int, _ text: String) async throws -> String {
        let collector = Collector()
        let channel = try await connect(host: host, port: port, collector)
        try? await channel.writeAndFlush(ByteBuffer(string: text)).get()
        try await end(of: channel)
        return try await channel.eventLoop.submit { collector.text }.get()
    }

    /// Sends `text`, and goes to the page of a rejected request if the answer leads there, as a browser does.
    static func rejection(port: Int, _ text: String) async throws -> String {
        let page = try await exchange(port: port, text)
        guard let path = path(of: page), path.hasPrefix("/rejected/") else { return page }
        return try await exchange(port: port, "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
    }

    /// Returns the path that `page` redirects to, without the `#` at its end, or `nil` if it is not a redirect.
    static func path(of page: String) -> String? {
        guard page.hasPrefix("HTTP/1.1 303 See Other\r\n") else { return nil }
        let field = page.split(separator: "\r\n").first { $0.hasPrefix("Location: ") }
        let location = field?.dropFirst("Location: ".count)
        return location?.last == "#" ? location.map { String($0.dropLast()) } : nil
    }

    /// Waits until the other side has closed `channel`, or until the caller's task is cancelled, as a time limit does it.
    static func end(of channel: any Channel) async throws {
        try await withTaskCancellationHandler {
            try await channel.closeFuture.get()
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// An open connection on which `text` has been sent.
    static func open(port: Int, _ text: String) async throws -> any Channel {
        let channel = try await connect(port: port, Collector())
        try await channel.writeAndFlush(ByteBuffer(string: text)).get()
        return channel
    }

    /// Opens a connection and sends `text`, although the other side may already have closed it.
    static func stall(port: Int, _ text: String) async throws -> any Channel {
        let channel = try await connect(port: port, Collector())
        channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        return channel
    }

    private static func connect(
        host: String = "127.0.0.1",
        port: Int,
        _ collector: Collector
    ) async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { $0.pipeline.addHandler(collector) }
            .connect(host: host, port: port).get()
    }

    /// Only touched on its channel's loop.
    private final class Collector: ChannelInboundHandler, @unchecked Sendable {
        typealias InboundIn = ByteBuffer

        var text = ""

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}

/// An authorization address as the browser sees it.
struct OpenedAddress: Sendable {
    let endpoint: String
    let parameters: [String: String]
    let names: [String]

    init?(_ step: LoginMessage) {
        guard case .openURL(let address, _) = step, let mark = address.firstIndex(of: "?"),
            let pairs = FormEncoding.decoded(address[address.index(after: mark)...])
        else { return nil }
        endpoint = String(address[..<mark])
        names = pairs.map(\.name)
        parameters = Dictionary(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    var state: String { parameters["state"] ?? "" }

    var port: Int {
        (parameters["redirect_uri"]?.split(separator: ":").last?.split(separator: "/").first).flatMap {
            Int($0)
        } ?? 0
    }

    /// Fetches the redirect URI with `query`, as a browser does.
    @discardableResult
    func redirect(_ query: String) async throws -> String {
        try await OpenedAddress.redirect(query, port: port)
    }

    /// ``redirect(_:)`` where the address does not name the port.
    @discardableResult
    static func redirect(_ query: String, port: Int) async throws -> String {
        let request = "GET /callback?\(query) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
        return try await RawConnection.exchange(port: port, request)
    }
}
