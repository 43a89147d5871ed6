// SPDX-License-Identifier: MIT

import AsyncHTTPClient
import NIOCore
import NIOSSL
import ServerCertificates

/// The network: HTTP/1.1 over connections that are kept, no redirect followed, nothing decompressed.
///
/// Nothing is repeated here. Proxy variables of the environment are not read.
final class GatewayTransport: Sendable {
    /// Bytes of an answer: etcd takes 1.5 MiB in a request, Base64 makes a third more of it, and a session's keys are
    /// at most three such values.
    static let longest = 8 << 20
    /// TCP and TLS together.
    private static let connectTime = TimeAmount.seconds(2)
    /// To each member; calls beyond that wait for one of them to end, for as long as a connection may take.
    ///
    /// One that is kept costs about a megabyte, and an agent that has found its etcd asks for every session at once.
    static let connections = 16
    /// The calls of one refresh follow each other closely, and the next refresh is minutes away.
    private static let idleTime = TimeAmount.seconds(10)

    /// One for each member, since a client does not say whom a new connection was to lead to.
    private let clients: [EtcdEndpoint: HTTPClient]
    private let showsCertificate: Bool

    init(
        to endpoints: [EtcdEndpoint],
        _ door: EtcdDoor,
        on group: any EventLoopGroup
    ) throws(EtcdFailure) {
        let handshake = try GatewayTransport.handshake(door)
        clients = Dictionary(
            uniqueKeysWithValues: Set(endpoints).map { endpoint in
                let configuration = GatewayTransport.configuration(handshake, to: endpoint)
                return (
                    endpoint, HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
                )
            }
        )
        showsCertificate = door.identity != nil
    }

    private static func configuration(
        _ handshake: TLSConfiguration,
        to endpoint: EtcdEndpoint
    ) -> HTTPClient.Configuration {
        var pool = HTTPClient.Configuration.ConnectionPool(
            idleTimeout: GatewayTransport.idleTime,
            concurrentHTTP1ConnectionsPerHostSoftLimit: GatewayTransport.connections
        )
        pool.retryConnectionEstablishment = false
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: handshake,
            redirectConfiguration: .disallow,
            timeout: .init(connect: GatewayTransport.connectTime),
            connectionPool: pool,
            decompression: .disabled
        )
        configuration.httpVersion = .http1Only
        // Before a byte of the request.
        if endpoint.isSecure {
            let identity = ServerIdentity(host: endpoint.host)
            configuration.http1_1ConnectionDebugInitializer = { identity.admit($0) }
        }
        return configuration
    }

    private static func handshake(_ door: EtcdDoor) throws(EtcdFailure) -> TLSConfiguration {
        var handshake = TLSConfiguration.makeClientConfiguration()
        handshake.minimumTLSVersion = .tlsv12
        handshake.certificateVerification = .fullVerification
        // In place of the system's: no public authority stands in for a private etcd. A context is made for each
        // connection that begins before the first one stands, and a copy of the system's roots takes 2 MB.
        if let authorities = door.authorities {
            handshake.trustRoots = .certificates(try certificates(authorities, in: .authorities))
        }
        if let identity = door.identity {
            let chain = try certificates(identity.certificates, in: .certificate)
            let key = try key(identity.key)
            handshake.certificateChain = chain.map { .certificate($0) }
            handshake.privateKey = .privateKey(key)
            try checkPair(handshake, chain)
        }
        return handshake
    }

    /// At least one.
    private static func certificates(
        _ bytes: [UInt8],
        in file: EtcdDistrust.OwnFile
    ) throws(EtcdFailure) -> [NIOSSLCertificate] {
        guard let found = try? NIOSSLCertificate.fromPEMBytes(bytes), !found.isEmpty else {
            throw .insecure(.noPEM(file))
        }
        return found
    }

    private static func key(_ bytes: [UInt8]) throws(EtcdFailure) -> NIOSSLPrivateKey {
        guard let key = try? NIOSSLPrivateKey(bytes: bytes, format: .pem) else {
            throw .insecure(.noPEM(.key))
        }
        return key
    }

    /// Else a connection would fail without a reason.
    private static func checkPair(
        _ handshake: TLSConfiguration,
        _ chain: [NIOSSLCertificate]
    ) throws(EtcdFailure) {
        var probe = handshake
        // Not the system's roots, which take 2 MB.
        probe.trustRoots = .certificates(chain)
        guard (try? NIOSSLContext(configuration: probe)) != nil else { throw .insecure(.otherKey) }
    }

    /// Sends a request, and returns when its whole answer has come.
    func send(
        _ request: GatewayRequest,
        to endpoint: EtcdEndpoint,
        token: String?,
        until end: ContinuousClock.Instant
    ) async throws(EtcdFailure) -> GatewayReply {
        let body = OutgoingJSON(request.body)
        let outgoing = GatewayTransport.outgoing(request, body, to: endpoint, token)
        let errors = errors(at: endpoint)
        let client = try client(of: endpoint)
        return try await GatewayTransport.limited(errors, until: end) {
            let incoming = try await GatewayTransport.head(of: outgoing, body, from: client, errors)
            var received: [UInt8] = []
            for try await piece in incoming.body {
                guard received.count + piece.readableBytes <= GatewayTransport.longest else {
                    throw EtcdFailure.malformed("the answer is larger than 8 MiB")
                }
                received += piece.readableBytesView
            }
            return GatewayReply(
                status: Int(incoming.status.code),
                date: incoming.headers.first(name: "date"),
                body: received
            )
        }
    }

    /// Sends a request whose answer goes on, and returns when its head has come.
    func open(
        _ request: GatewayRequest,
        at endpoint: EtcdEndpoint,
        token: String?,
        until end: ContinuousClock.Instant
    ) async throws(EtcdFailure) -> GatewayStream {
        let body = OutgoingJSON(request.body)
        let outgoing = GatewayTransport.outgoing(request, body, to: endpoint, token)
        let errors = errors(at: endpoint)
        let client = try client(of: endpoint)
        let incoming = try await GatewayTransport.limited(errors, until: end) {
            try await GatewayTransport.head(of: outgoing, body, from: client, errors)
        }
        return GatewayStream(status: Int(incoming.status.code), body: incoming.body, errors: errors)
    }

    /// Closes all connections.
    func shutDown() async {
        for client in clients.values { try? await client.shutdown() }
    }

    private func client(of endpoint: EtcdEndpoint) throws(EtcdFailure) -> HTTPClient {
        guard let client = clients[endpoint] else { throw .unreachable("it is no endpoint of this etcd") }
        return client
    }

    private func errors(at endpoint: EtcdEndpoint) -> TransportErrors {
        TransportErrors(isSecure: endpoint.isSecure, showsCertificate: showsCertificate)
    }

    private static func outgoing(
        _ request: GatewayRequest,
        _ body: OutgoingJSON,
        to endpoint: EtcdEndpoint,
        _ token: String?
    ) -> HTTPClientRequest {
        var outgoing = HTTPClientRequest(url: endpoint.origin + request.path)
        outgoing.method = .POST
        outgoing.headers.add(name: "content-type", value: "application/json")
        // Without this field etcd 3.4 takes a request without a token for one of the user whom the gateway's own
        // certificate names (`AuthInfoFromTLS`).
        outgoing.headers.add(name: "accept", value: "application/json")
        outgoing.headers.add(name: "accept-encoding", value: "identity")
        // A member that is cut off from the others says so at once, also in a watch, and does nothing.
        outgoing.headers.add(name: "grpc-metadata-hasleader", value: "true")
        if let token { outgoing.headers.add(name: "authorization", value: token) }
        outgoing.body = .stream(body, length: .known(Int64(body.count)))
        return outgoing
    }

    /// Sends the request, and returns when the head of its answer has come.
    private static func head(
        of outgoing: HTTPClientRequest,
        _ body: OutgoingJSON,
        from client: HTTPClient,
        _ errors: TransportErrors
    ) async throws(EtcdFailure) -> HTTPClientResponse {
        do {
            return try await client.execute(outgoing, deadline: .distantFuture)
        } catch {
            throw errors.failure(error, body.wasTaken ? .sent : .connecting)
        }
    }

    /// Runs `work`, and gives it up when its time is over or the caller's task is cancelled.
    private static func limited<Result: Sendable>(
        _ errors: TransportErrors,
        until end: ContinuousClock.Instant,
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws(EtcdFailure) -> Result {
        let task = Task { try await work() }
        let alarm = Task {
            try await Task.sleep(until: end, clock: .continuous)
            task.cancel()
        }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        alarm.cancel()
        switch result {
        case .success(let value): return value
        case .failure(let error): throw errors.failure(error, .answering)
        }
    }
}

/// A complete answer of the gateway.
struct GatewayReply: Equatable, Sendable {
    var status: Int
    var date: String?
    var body: [UInt8]
}

/// An answer that goes on.
struct GatewayStream: Sendable {
    var status: Int
    fileprivate let body: HTTPClientResponse.Body
    fileprivate let errors: TransportErrors

    struct Iterator {
        fileprivate var pieces: HTTPClientResponse.Body.AsyncIterator
        fileprivate let errors: TransportErrors

        /// The next bytes; `nil` at the end.
        mutating func next() async throws(EtcdFailure) -> [UInt8]? {
            do {
                return try await pieces.next().map { Array($0.readableBytesView) }
            } catch {
                throw errors.failure(error, .answering)
            }
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(pieces: body.makeAsyncIterator(), errors: errors) }
}
