// SPDX-License-Identifier: MIT

import AgentProtocol
import ForwardProxy
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ServerCertificates
import Text

/// The HTTP/1.1 transport to the server, with persistent connections, no redirects and no decompression.
///
/// A request is never repeated here, because the server may have processed it.
final class ResourceTransport: Sendable {
    private let loop: any EventLoop
    private let pool: ResourceConnectionPool
    private let proxy: ForwardProxy?
    /// The path and query of all requests.
    private let target: String
    private let host: String
    /// The origin of the server, for error messages.
    private let server: String

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - address: the URL of all requests. A fragment is not sent.
    ///   - authorities: a PEM file with CA certificates to trust in addition to the system's.
    ///   - proxy: the forward proxy, or `nil` for direct connections.
    ///   - group: the event loops to use.
    /// - Throws: ``AgentError`` with the code `badRequest` if the file cannot be used, or `misconfigured` if
    ///   TLS cannot be prepared.
    init(
        to address: ResourceAddress,
        authorities: String?,
        proxy: ResourceProxy?,
        on group: any EventLoopGroup
    ) throws(AgentError) {
        let roots = try authorities.map(ResourceTransport.certificates) ?? []
        let name = address.server.place.host
        let bare = name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name
        var tunnel: ProxyTunnel?
        if let proxy {
            do throws(ProxyFailure) {
                tunnel = try ProxyTunnel(proxy.proxy, credentials: proxy.credentials, authorities: roots)
            } catch {
                throw AgentError(.misconfigured, error.message(of: proxy.proxy))
            }
        }
        loop = group.next()
        pool = ResourceConnectionPool(
            to: bare,
            address.server.place.port ?? 443,
            tls: address.server.isClear ? nil : try ResourceTransport.context(for: bare, trusting: roots),
            tunnel: tunnel,
            on: loop
        )
        self.proxy = proxy?.proxy
        let rest = address.text.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst(3)
        let path = rest.drop { !"/?#".utf8.contains($0) }.prefix { $0 != UInt8(ascii: "#") }
        let text = String(decoding: Array(path), as: UTF8.self)
        target = text.hasPrefix("/") ? text : "/" + text
        host = address.server.hostRule
        server = address.server.origin
    }

    /// Sends a request and returns when the head of its response has arrived.
    func send(_ request: ResourceRequest) async throws(RPCFailure) -> ResourceResponse {
        var headers = HTTPHeaders([("host", host)] + request.fields.map { ($0.name, $0.value) })
        headers.add(name: "accept-encoding", value: "identity")
        headers.add(name: "user-agent", value: "tokenagent-mcp/\(AgentRelease.version)")
        var body: ByteBuffer?
        if request.method == .post {
            headers.add(name: "content-length", value: "\(request.body.count)")
            body = ByteBuffer(bytes: request.body)
        }
        let head = HTTPRequestHead(
            version: .http1_1,
            method: HTTPMethod(rawValue: request.method.rawValue),
            uri: target,
            headers: headers
        )
        let response = ArrivingResponse(on: loop)
        let incoming: HTTPResponseHead
        do {
            incoming = try await response.head { [pool, body] in pool.send(head, body, for: response) }
        } catch {
            throw RPCFailure(explaining: error, of: server, through: proxy)
        }
        let size = incoming.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard size <= BridgeLimits.head, incoming.headers.count <= BridgeLimits.fields else {
            response.abandon()
            throw RPCFailure(.failed, "the server's response headers are too large")
        }
        return ResourceResponse(
            status: Int(incoming.status.code),
            fields: incoming.headers.map { (name: $0.name.bytewise.lowercased.text, value: $0.value) },
            body: ReplyBody(response)
        )
    }

    /// Closes all connections.
    func shutDown() async {
        try? await loop.submit { [pool] in pool.close() }.get()
    }

    /// Returns the TLS settings for `host`.
    private static func context(
        for host: String,
        trusting authorities: [NIOSSLCertificate]
    ) throws(AgentError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        // The other end of a connection may be a proxy, so ``ServerIdentity`` compares an IP address.
        configuration.certificateVerification =
            IPAddress(host) == nil ? .fullVerification : .noHostnameVerification
        configuration.applicationProtocols = ["http/1.1"]
        configuration.trustRoots = SystemRoots().trustRoots
        if !authorities.isEmpty { configuration.additionalTrustRoots = [.certificates(authorities)] }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw AgentError(.misconfigured, "cannot load the CA certificates")
        }
    }

    private static func certificates(_ path: String) throws(AgentError) -> [NIOSSLCertificate] {
        if let found = try? NIOSSLCertificate.fromPEMFile(path), !found.isEmpty {
            return ConfiguredTrustAnchors.trusting(found)
        }
        guard unsafe access(path, R_OK) == 0 else {
            throw AgentError(.badRequest, "--ca-file \(path): \(systemMessage(errno))")
        }
        throw AgentError(.badRequest, "--ca-file \(path): no PEM certificate found")
    }
}

/// The body of a response, in pieces.
///
/// The connection is closed if the body is dropped before its end.
struct ReplyBody: Sendable {
    fileprivate final class Reader: Sendable {
        let response: ArrivingResponse

        init(_ response: ArrivingResponse) { self.response = response }

        deinit { response.abandon() }
    }

    private let reader: Reader

    fileprivate init(_ response: ArrivingResponse) { reader = Reader(response) }

    struct Iterator {
        fileprivate let reader: Reader

        /// Waits for the next bytes.
        ///
        /// - Returns: the bytes, or `nil` at the end of the body.
        /// - Throws: ``RPCFailure`` if the connection breaks off.
        mutating func next() async throws(RPCFailure) -> [UInt8]? {
            do {
                return try await reader.response.nextPiece().map { Array($0.readableBytesView) }
            } catch {
                throw RPCFailure(explaining: error)
            }
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }
}

extension RPCFailure {
    /// Creates an error that explains an error of the connection to a user.
    fileprivate init(
        explaining error: any Error,
        of server: String = "the server",
        through proxy: ForwardProxy? = nil
    ) {
        let message =
            switch error {
            case let error as ProxyFailure where proxy != nil: proxy.map(error.message) ?? ""
            case is NIOConnectionError, is IOError, ChannelError.connectTimeout,
                ResourceConnectionError.timedOut:
                ConnectionFailureText.reason(of: error)
            case is HostMismatchError, is NIOSSLExtraError: "the certificate is for another host name"
            case NIOSSLError.uncleanShutdown: RPCFailure.incomplete
            case is NIOSSLError, is BoringSSLError: RPCFailure.insecure(error)
            case HTTPParserError.headerOverflow: "the response headers are too large"
            case HTTPParserError.invalidEOFState: RPCFailure.incomplete
            case is HTTPParserError: "the response is not HTTP"
            case is CancellationError: "the request was cancelled"
            default: RPCFailure.incomplete
            }
        self.init(.failed, "no response from \(server): \(message)", mayPass: true)
    }

    private static let incomplete = "connection closed before the response was complete"

    private static func insecure(_ error: any Error) -> String {
        "\(error)".contains("CERTIFICATE_VERIFY_FAILED")
            ? "certificate not trusted: unknown issuer, expired or not yet valid "
                + Remedy.set("--ca-file").parenthesized
            : "TLS handshake failed"
    }
}
