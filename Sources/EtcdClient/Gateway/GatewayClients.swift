// SPDX-License-Identifier: MIT

import AsyncHTTPClient
import NIOCore
import NIOSSL
import ServerCertificates
import Synchronization

/// The HTTP clients of an etcd's members, made with the certificates that the files hold.
///
/// Certificates are renewed while the agent runs: it looks at the files again when a member and this host do not let each
/// other in.
final class GatewayClients: Sendable {
    private struct State {
        var door: EtcdCredentials
        var generation = 0
        /// One for each member, since a client does not say whom a new connection was to lead to.
        var clients: [EtcdEndpoint: HTTPClient]
        var ownEnd: Int?
        var isShutDown = false
    }

    /// TCP and TLS together.
    private static let connectTime = TimeAmount.seconds(2)
    /// To each member; calls beyond that wait for one of them to end, for as long as a connection may take.
    ///
    /// One that is kept costs about a megabyte, and an agent that has found its etcd asks for every session at once.
    static let connections = 16
    /// The calls of one refresh follow each other closely, and the next refresh is minutes away.
    private static let idleTime = TimeAmount.seconds(10)

    private let endpoints: Set<EtcdEndpoint>
    private let group: any EventLoopGroup
    private let state: Mutex<State>

    init(
        of endpoints: [EtcdEndpoint],
        _ door: EtcdCredentials,
        on group: any EventLoopGroup
    ) throws(EtcdFailure) {
        self.endpoints = Set(endpoints)
        self.group = group
        state = Mutex(try GatewayClients.state(door, self.endpoints, on: group))
    }

    /// Closes what an owner that ended with an error has left open: the library ends the process of a debug build in
    /// which a client goes away without that.
    deinit {
        let left = state.withLock { $0.isShutDown ? [:] : $0.clients }
        if !left.isEmpty { Task { await GatewayClients.shutDown(left) } }
    }

    /// What calls a member with.
    struct Caller {
        var client: HTTPClient
        var errors: TransportErrors
        /// How often certificates had been renewed when it was made.
        var generation: Int
    }

    func client(of endpoint: EtcdEndpoint) throws(EtcdFailure) -> Caller {
        let caller = state.withLock { state in
            state.clients[endpoint].map { client in
                Caller(
                    client: client,
                    errors: TransportErrors(isSecure: endpoint.isSecure, certificateEnds: state.ownEnd),
                    generation: state.generation
                )
            }
        }
        guard let caller else { throw .unreachable("it is no endpoint of this etcd") }
        return caller
    }

    /// Takes over what the files hold now; files that cannot be used change nothing.
    ///
    /// - Parameter generation: of the client that a member did not let in.
    /// - Returns: whether there are other clients than those.
    func renew(after generation: Int) -> Bool {
        guard let present = state.withLock({ $0.generation == generation ? $0.door : nil }) else {
            return true
        }
        guard let door = present.renewed?(), !door.hasSameFiles(as: present),
            var next = try? GatewayClients.state(door, endpoints, on: group)
        else { return false }
        next.generation = generation + 1
        let former = state.withLock { [next] state in
            guard state.generation == generation, !state.isShutDown else { return next.clients }
            defer { state = next }
            return state.clients
        }
        // What is under way there has the certificates of before.
        Task { await GatewayClients.shutDown(former) }
        return true
    }

    /// Closes all connections.
    func shutDown() async {
        let clients = state.withLock { state in
            state.isShutDown = true
            return state.clients
        }
        await GatewayClients.shutDown(clients)
    }

    private static func shutDown(_ clients: [EtcdEndpoint: HTTPClient]) async {
        for client in clients.values { try? await client.shutdown() }
    }

    // MARK: Making

    private static func state(
        _ door: EtcdCredentials,
        _ endpoints: Set<EtcdEndpoint>,
        on group: any EventLoopGroup
    ) throws(EtcdFailure) -> State {
        let (handshake, ownEnd) = try handshake(door)
        var clients: [EtcdEndpoint: HTTPClient] = [:]
        for endpoint in endpoints {
            clients[endpoint] = HTTPClient(
                eventLoopGroupProvider: .shared(group),
                configuration: configuration(handshake, to: endpoint)
            )
        }
        return State(door: door, clients: clients, ownEnd: ownEnd)
    }

    private static func configuration(
        _ handshake: TLSConfiguration,
        to endpoint: EtcdEndpoint
    ) -> HTTPClient.Configuration {
        var pool = HTTPClient.Configuration.ConnectionPool(
            idleTimeout: GatewayClients.idleTime,
            concurrentHTTP1ConnectionsPerHostSoftLimit: GatewayClients.connections
        )
        pool.retryConnectionEstablishment = false
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: handshake,
            redirectConfiguration: .disallow,
            timeout: .init(connect: GatewayClients.connectTime),
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

    /// What connections begin with, and when our certificate ends, in seconds since 1970.
    private static func handshake(
        _ door: EtcdCredentials
    ) throws(EtcdFailure) -> (TLSConfiguration, end: Int?) {
        var handshake = TLSConfiguration.makeClientConfiguration()
        var end: Int?
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
            end = chain.first?.notValidAfter
        }
        return (handshake, end)
    }

    /// At least one.
    private static func certificates(
        _ bytes: [UInt8],
        in file: EtcdTLSError.OwnFile
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
}
