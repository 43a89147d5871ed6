// SPDX-License-Identifier: MIT

import AgentProtocol
import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ServerCertificates
import ServerSettings
import Text

/// The HTTP/1.1 transport to the server, with persistent connections, no redirects and no decompression.
///
/// A request is never repeated here, because the server may have processed it. If the environment names a
/// forward proxy, the HTTP library connects through that proxy, without TLS to the proxy.
final class ResourceTransport: Sendable {
    /// One client for each address of a server on this machine, tried in their order, otherwise one client.
    private let clients: [HTTPClient]
    private let address: String
    /// The origin of the server, for error messages.
    private let server: String

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - address: the URL of all requests. A fragment is not sent.
    ///   - authorities: a PEM file with CA certificates to trust in addition to the system's.
    ///   - variables: the forward proxies of the environment.
    ///   - group: the event loops to use.
    /// - Throws: ``AgentError`` with the code `badRequest` if the file cannot be used, or `misconfigured` if
    ///   the forward proxy cannot be used.
    init(
        to address: ResourceAddress,
        authorities: String?,
        variables: ProxyVariables,
        on group: any EventLoopGroup
    ) throws(AgentError) {
        var handshake = TLSConfiguration.makeClientConfiguration()
        handshake.minimumTLSVersion = .tlsv12
        handshake.certificateVerification = .fullVerification
        handshake.trustRoots = SystemRoots().trustRoots
        if let authorities {
            handshake.additionalTrustRoots = [.certificates(try ResourceTransport.certificates(authorities))]
        }
        var pool = HTTPClient.Configuration.ConnectionPool(
            idleTimeout: .seconds(50),
            concurrentHTTP1ConnectionsPerHostSoftLimit: 2 * BridgeLimits.exchanges
        )
        pool.retryConnectionEstablishment = false
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: handshake,
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(10)),
            connectionPool: pool,
            decompression: .disabled
        )
        configuration.httpVersion = .http1Only
        configuration.proxy = try ResourceTransport.proxy(for: address, variables)
        // The identity is checked before a byte of the request is sent.
        if !address.server.isClear {
            let identity = ServerIdentity(host: address.server.place.host)
            configuration.http1_1ConnectionDebugInitializer = { identity.admit($0) }
        }
        // The name of this machine is never looked up in DNS.
        let host = address.server.place.host
        let resolutions = address.server.isLoopbackName ? LocalhostName.addresses.map { [host: $0] } : [[:]]
        clients = resolutions.map { resolution in
            configuration.dnsOverride = resolution
            return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        }
        server = address.server.origin
        self.address = String(
            decoding: Array(address.text.utf8.prefix { $0 != UInt8(ascii: "#") }),
            as: UTF8.self
        )
    }

    /// Sends a request and returns when the head of its response has arrived.
    func send(_ request: ResourceRequest) async throws(RPCFailure) -> ResourceResponse {
        var outgoing = HTTPClientRequest(url: address)
        outgoing.method = HTTPMethod(rawValue: request.method.rawValue)
        outgoing.headers = HTTPHeaders(request.fields.map { ($0.name, $0.value) })
        outgoing.headers.add(name: "accept-encoding", value: "identity")
        outgoing.headers.add(name: "user-agent", value: "tokenagent-mcp/\(AgentRelease.version)")
        if request.method == .post { outgoing.body = .bytes(ByteBuffer(bytes: request.body)) }
        let incoming: HTTPClientResponse
        do {
            incoming = try await execute(outgoing)
        } catch {
            throw RPCFailure(explaining: error, of: server)
        }
        let size = incoming.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard size <= BridgeLimits.head, incoming.headers.count <= BridgeLimits.fields else {
            throw RPCFailure(.failed, "the server's response headers are too large")
        }
        return ResourceResponse(
            status: Int(incoming.status.code),
            fields: incoming.headers.map { (name: $0.name.bytewise.lowercased.text, value: $0.value) },
            body: ReplyBody(body: incoming.body)
        )
    }

    /// Sends `request` to the first address that accepts a connection.
    private func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        for client in clients.dropLast() {
            do {
                return try await client.execute(request, deadline: .distantFuture)
            } catch let error as IOError where [ECONNREFUSED, EADDRNOTAVAIL].contains(error.errnoCode) {
                continue
            }
        }
        return try await clients[clients.count - 1].execute(request, deadline: .distantFuture)
    }

    /// Closes all connections.
    func shutDown() async {
        for client in clients { try? await client.shutdown() }
    }

    private static func proxy(
        for address: ResourceAddress,
        _ variables: ProxyVariables
    ) throws(AgentError) -> HTTPClient.Configuration.Proxy? {
        // A server without TLS is on this machine, so no proxy is used.
        guard !address.server.isClear, let port = address.server.place.port else { return nil }
        let name = address.server.place.host
        let host = name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name
        let found: (proxy: ForwardProxy, credentials: ProxyCredentials?)?
        do throws(ForwardProxyURLError) {
            found = try variables.proxy(for: host, port: port)
        } catch {
            throw AgentError(.misconfigured, "\(variables.name) \(error)")
        }
        guard let found else { return nil }
        guard !found.proxy.isTLS else {
            throw AgentError(
                .misconfigured,
                "\(variables.name): tokenctl mcp connect does not support https:// proxies",
                remedy: .set("NO_PROXY to include \(name), or \(variables.name) to an http:// proxy")
            )
        }
        return .server(
            host: found.proxy.host,
            port: found.proxy.port,
            authorization: found.credentials.map { .basic(credentials: Base64.encoded($0.text.utf8)) }
        )
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
struct ReplyBody: Sendable {
    fileprivate let body: HTTPClientResponse.Body

    struct Iterator {
        fileprivate var pieces: HTTPClientResponse.Body.AsyncIterator

        /// Waits for the next bytes.
        ///
        /// - Returns: the bytes, or `nil` at the end of the body.
        /// - Throws: ``RPCFailure`` if the connection breaks off.
        mutating func next() async throws(RPCFailure) -> [UInt8]? {
            do {
                return try await pieces.next().map { Array($0.readableBytesView) }
            } catch {
                throw RPCFailure(explaining: error)
            }
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(pieces: body.makeAsyncIterator()) }
}

extension RPCFailure {
    /// Creates an error that explains an error of the HTTP library to a user.
    fileprivate init(explaining error: any Error, of server: String = "the server") {
        let message =
            switch error {
            case let error as NIOConnectionError: RPCFailure.reason(error)
            case let error as IOError: systemMessage(error.errnoCode)
            case is HostMismatchError, is NIOSSLExtraError: "the certificate is for another host name"
            case is NIOSSLError, is BoringSSLError: RPCFailure.insecure(error)
            case let error as HTTPClientError where error == .connectTimeout || error == .tlsHandshakeTimeout:
                "connection timed out"
            case let error as HTTPParserError where error == .headerOverflow:
                "the response headers are too large"
            case is HTTPParserError: "the response is not HTTP"
            case let error as HTTPClientError where error == .proxyAuthenticationRequired:
                "the proxy requires a user name and password, or rejected them (status 407)"
            case let error as HTTPClientError where error == .invalidProxyResponse:
                "the proxy rejected the connection"
            case is CancellationError: "the request was cancelled"
            default: "connection closed before the response was complete"
            }
        self.init(.failed, "no response from \(server): \(message)", mayPass: true)
    }

    private static func insecure(_ error: any Error) -> String {
        "\(error)".contains("CERTIFICATE_VERIFY_FAILED")
            ? "certificate not trusted: unknown issuer, expired or not yet valid "
                + Remedy.set("--ca-file").parenthesized
            : "TLS handshake failed"
    }

    private static func reason(_ error: NIOConnectionError) -> String {
        guard let last = error.connectionErrors.last?.error else { return "the host name cannot be resolved" }
        return (last as? IOError).map { systemMessage($0.errnoCode) } ?? "connection timed out"
    }
}
