// SPDX-License-Identifier: MIT

import AsyncHTTPClient
import NIOCore
import NIOSSL
import ServerCertificates
import ServerSettings
import Synchronization

/// The HTTP clients for the members of one etcd cluster, with the certificates from the files.
///
/// Certificates are renewed while the agent runs. The files are read again when a member and this host do not
/// accept each other.
final class GatewayClients: Sendable {
    private struct State {
        var door: EtcdCredentials
        var generation = 0
        /// One client for each member, because a client does not report the member to which a new connection
        /// failed.
        var clients: [EtcdEndpoint: HTTPClient]
        var ownEnd: Int?
        var isShutDown = false
    }

    /// The time limit for TCP and TLS together: 2 seconds.
    private static let connectTime = TimeAmount.seconds(2)
    /// The maximum number of connections to each member.
    ///
    /// Further calls wait for one of them, at most for the connection timeout.
    ///
    /// An idle connection takes about a megabyte, and an agent that has just found its etcd makes a call for
    /// every session at once.
    static let connections = 16
    /// The time after which an idle connection is closed.
    ///
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

    /// Closes the HTTP clients if the owner has not done so, as after an error.
    ///
    /// In a debug build, the library ends the process if a client is released without that.
    deinit {
        let left = state.withLock { $0.isShutDown ? [:] : $0.clients }
        if !left.isEmpty { Task { await GatewayClients.shutDown(left) } }
    }

    /// The HTTP client for calls to one member.
    struct MemberClient {
        var client: HTTPClient
        var errors: TransportErrors
        /// The number of renewals of the certificates before the client was created.
        var generation: Int
    }

    func client(of endpoint: EtcdEndpoint) throws(EtcdFailure) -> MemberClient {
        let caller = state.withLock { state in
            state.clients[endpoint].map { client in
                MemberClient(
                    client: client,
                    errors: TransportErrors(isSecure: endpoint.isSecure, certificateEnds: state.ownEnd),
                    generation: state.generation
                )
            }
        }
        guard let caller else { throw .unreachable("the endpoint is not in fleet.endpoints") }
        return caller
    }

    /// Reads the certificate files again.
    ///
    /// Unusable files change nothing.
    ///
    /// - Parameter generation: the generation of the client that a member did not accept.
    /// - Returns: whether newer clients exist.
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
        // Active calls still use the previous certificates.
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

    // MARK: Creation

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
        // The identity is checked before a byte of the request is sent.
        if endpoint.isSecure {
            let identity = ServerIdentity(host: endpoint.host)
            configuration.http1_1ConnectionDebugInitializer = { identity.admit($0) }
        }
        return configuration
    }

    /// Returns the TLS configuration with this host's certificate, and the certificate's expiry in seconds
    /// since 1970.
    private static func handshake(
        _ door: EtcdCredentials
    ) throws(EtcdFailure) -> (TLSConfiguration, end: Int?) {
        var handshake = TLSConfiguration.makeClientConfiguration()
        var end: Int?
        handshake.minimumTLSVersion = .tlsv12
        handshake.certificateVerification = .fullVerification
        // The configured CAs replace the system's, so that no public CA can vouch for a private etcd. Also,
        // every connection that begins before the first one is established creates a context, and a copy of
        // the system's roots takes 2 MB.
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

    /// Parses PEM certificates, of which there must be at least one.
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

    /// Checks that this host's key belongs to its certificate.
    ///
    /// Otherwise a connection would fail without a reason.
    private static func checkPair(
        _ handshake: TLSConfiguration,
        _ chain: [NIOSSLCertificate]
    ) throws(EtcdFailure) {
        var probe = handshake
        // The system's roots are not needed here and take 2 MB.
        probe.trustRoots = .certificates(chain)
        guard (try? NIOSSLContext(configuration: probe)) != nil else { throw .insecure(.otherKey) }
    }
}
