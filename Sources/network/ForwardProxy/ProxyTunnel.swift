// SPDX-License-Identifier: MIT

import NIOCore
import NIOSSL
import NIOTLS
import ServerCertificates
import Text

/// A tunnel to a server through a forward proxy (CONNECT, RFC 9110 §9.3.6).
package struct ProxyTunnel: Sendable {
    package let proxy: ForwardProxy
    private let credentials: ProxyCredentials?
    /// The TLS settings for the proxy, or `nil` if the connection to the proxy is in the clear.
    private let context: NIOSSLContext?

    /// Prepares tunnels through a proxy.
    ///
    /// - Parameters:
    ///   - proxy: the proxy.
    ///   - credentials: sent with the first request, because some proxies close the connection after a 407.
    ///   - authorities: CA certificates to trust in addition to the system's.
    /// - Throws: ``ProxyFailure`` if TLS cannot be prepared.
    package init(
        _ proxy: ForwardProxy,
        credentials: ProxyCredentials?,
        authorities: [NIOSSLCertificate] = []
    ) throws(ProxyFailure) {
        self.proxy = proxy
        self.credentials = credentials
        guard proxy.isTLS else {
            context = nil
            return
        }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = .fullVerification
        configuration.shutdownTimeout = .zero
        // The peer address of a guarded connection is not the proxy's, so ``ServerIdentity`` compares an IP
        // address.
        if IPAddress(proxy.host) != nil { configuration.certificateVerification = .noHostnameVerification }
        if !authorities.isEmpty { configuration.additionalTrustRoots = [.certificates(authorities)] }
        guard let context = try? NIOSSLContext(configuration: configuration) else {
            throw .insecure("cannot load the CA certificates")
        }
        self.context = context
    }

    /// Requests a connection to a server from the proxy at the other end of `channel`.
    ///
    /// Call this on the channel's event loop, with nothing in its pipeline that reads. Afterwards, written
    /// bytes go to the server, and received bytes come from it.
    ///
    /// - Parameters:
    ///   - host: the server, with no brackets around an IPv6 address.
    ///   - port: the server's port.
    ///   - channel: a new connection to the proxy.
    /// - Returns: a future that succeeds when the connection is established, or fails with ``ProxyFailure``.
    package func open(to host: String, port: Int, over channel: any Channel) -> EventLoopFuture<Void> {
        let established = channel.eventLoop.makePromise(of: Void.self)
        do {
            let pipeline = channel.pipeline.syncOperations
            var security: NIOSSLClientHandler?
            if let context {
                let name = IPAddress(proxy.host) == nil ? proxy.host : nil
                let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
                try pipeline.addHandler(handler)
                security = handler
            }
            try pipeline.addHandler(
                ProxyConnectHandler(
                    request: request(to: host, port: port),
                    security: security.map { ($0, ServerIdentity(host: proxy.host)) },
                    established: established
                )
            )
        } catch {
            established.fail(ProxyFailure.insecure("cannot start TLS"))
        }
        return established.futureResult
    }

    private func request(to host: String, port: Int) -> [UInt8] {
        let target = "\(host.contains(":") ? "[\(host)]" : host):\(port)"
        let authorization = credentials.map { "Proxy-Authorization: \($0.field)\r\n" } ?? ""
        return Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\(authorization)\r\n".utf8)
    }
}

/// The reason a proxy has opened no connection.
///
/// Nothing of a request was sent.
package enum ProxyFailure: Error, Equatable, Sendable {
    /// The connection to the proxy itself failed.
    case unreachable(String)
    /// The proxy did not open a connection in time.
    case timedOut
    /// The proxy's certificate is not trusted.
    case insecure(String)
    /// The proxy requires credentials (407), or rejected them.
    case loginRequired
    /// The proxy refuses to connect to this server.
    case rejected(status: Int)
    /// The response is not one of a proxy.
    case notAProxy(String)

    /// Returns the error as a sentence for people.
    package func message(of proxy: ForwardProxy) -> String {
        switch self {
        case .unreachable(let reason): "cannot connect to the proxy \(proxy): \(reason)"
        case .timedOut: "connection through the proxy \(proxy) timed out"
        case .insecure(let reason): "the proxy \(proxy) is not trusted: \(reason)"
        case .loginRequired:
            "the proxy \(proxy) requires a user name and password, or rejected them (status 407)"
        case .rejected(let status): "the proxy \(proxy) rejected the connection (status \(status))"
        case .notAProxy(let reason): "\(proxy) is not a working proxy: \(reason)"
        }
    }
}

/// A handler that sends CONNECT, reads the head of the response, and leaves the pipeline.
///
/// The handler reads by itself, because the channel may not. It stops at the end of the head. Bytes that a
/// proxy sends after the head before anything was sent to the server are not the server's.
private final class ProxyConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The maximum size of all heads together, in bytes.
    private static let maximumHead = 16 << 10
    /// The maximum number of interim responses (1xx) before the final one.
    private static let maximumInterim = 8

    private let request: [UInt8]
    private let security: (handler: NIOSSLClientHandler, identity: ServerIdentity)?
    private let established: EventLoopPromise<Void>
    private var received: [UInt8] = []
    private var interimCount = 0
    private var hasAsked = false
    private var isOver = false

    init(
        request: [UInt8],
        security: (NIOSSLClientHandler, ServerIdentity)?,
        established: EventLoopPromise<Void>
    ) {
        self.request = request
        self.security = security
        self.established = established
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        if security == nil { ask(context) } else { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // Later handlers wait for the handshake with the server, not for this one.
        guard let event = event as? TLSUserEvent, let security else {
            return context.fireUserInboundEventTriggered(event)
        }
        guard case .handshakeCompleted = event else { return }
        guard let certificate = security.handler.peerCertificate, security.identity.isProven(by: certificate)
        else {
            return end(context, .insecure("its certificate is for another host name"))
        }
        ask(context)
    }

    private func ask(_ context: ChannelHandlerContext) {
        guard !hasAsked else { return }
        hasAsked = true
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: request)), promise: nil)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        received += unwrapInboundIn(data).readableBytesView
        while !isOver, let head = nextHead() { take(head, context) }
        guard !isOver else { return }
        if !hasAsked { return end(context, .notAProxy("it sent data before the request")) }
        if received.count > ProxyConnectHandler.maximumHead {
            end(context, .notAProxy("its response is too long"))
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !isOver { context.read() }
        context.fireChannelReadComplete()
    }

    /// Removes and returns the bytes up to an empty line, or `nil` if there is none.
    private func nextHead() -> ArraySlice<UInt8>? {
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        defer { received.removeFirst(end.upperBound) }
        return received[..<end.lowerBound]
    }

    private func take(_ head: ArraySlice<UInt8>, _ context: ChannelHandlerContext) {
        guard let status = ProxyConnectHandler.status(of: head) else {
            return end(context, .notAProxy("its response is not HTTP"))
        }
        switch status {
        case 100..<200 where status != 101 && interimCount < ProxyConnectHandler.maximumInterim:
            interimCount += 1
        case 200..<300:
            guard received.isEmpty else {
                return end(context, .notAProxy("it sent data after its response"))
            }
            end(context, nil)
        case 407: end(context, .loginRequired)
        case 300..<600: end(context, .rejected(status: status))
        default: end(context, .notAProxy("its response has status \(status)"))
        }
    }

    /// Returns the status of a head, or `nil` unless all its lines are valid HTTP (RFC 9112 §4, §5).
    private static func status(of head: ArraySlice<UInt8>) -> Int? {
        var lines = HTTPSyntax.lines(head)
        guard let first = lines.next(), first.count >= 12, first.starts(with: "HTTP/1.".utf8),
            first.dropFirst(7).first?.isASCIIDigit == true,
            first.dropFirst(8).first == UInt8(ascii: " "),
            first.dropFirst(12).first ?? UInt8(ascii: " ") == UInt8(ascii: " "),
            first.allSatisfy(\.isFieldByte), lines.allSatisfy({ HTTPSyntax.field($0) != nil })
        else { return nil }
        let digits = first.dropFirst(9).prefix(3)
        guard digits.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isOver else { return context.fireErrorCaught(error) }
        end(context, ProxyConnectHandler.failure(error))
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !isOver { end(context, .notAProxy("it closed the connection")) }
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        // The channel was closed before there was a result.
        if !isOver { finish(.notAProxy("it closed the connection")) }
    }

    private static func failure(_ error: any Error) -> ProxyFailure {
        switch error {
        case is NIOSSLExtraError: return .insecure("its certificate is for another host name")
        case let error as NIOSSLError where "\(error)".contains("CERTIFICATE_VERIFY_FAILED"):
            return .insecure("unknown issuer, expired or not yet valid")
        case is NIOSSLError, is BoringSSLError: return .insecure("the TLS handshake failed")
        default: return .notAProxy("it closed the connection")
        }
    }

    private func end(_ context: ChannelHandlerContext, _ failure: ProxyFailure?) {
        guard !isOver else { return }
        guard failure == nil else { return finish(failure) }
        isOver = true
        // The handler must be gone before the next one is added.
        context.pipeline.syncOperations.removeHandler(self).cascade(to: established)
    }

    private func finish(_ failure: ProxyFailure?) {
        isOver = true
        if let failure { established.fail(failure) }
    }
}
