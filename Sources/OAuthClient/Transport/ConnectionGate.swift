// SPDX-License-Identifier: MIT

import NIOCore
import NIOSSL
import ServerCertificates
import Synchronization

/// Looks at each new connection after TLS and before the request; a refused connection never carries a byte
/// of the request.
final class ConnectionGate: Sendable {
    /// `nil`: the server speaks no TLS.
    private let identity: ServerIdentity?
    /// `nil`: any key will do.
    private let pins: [CertificatePin]?
    private let publicAddressOnly: Bool
    private let internalAddressSeen = Atomic(false)
    private let stage: ConnectionStage?

    /// A gate for connections to the host of `url`.
    ///
    /// With `stage`, the gate is for the one connection of one try, and refuses a try that was given up.
    init(to url: EndpointURL, pins: [String], publicAddressOnly: Bool, stage: ConnectionStage? = nil) {
        identity = url.serverIdentity
        self.stage = stage
        self.pins = pins.isEmpty ? nil : pins.compactMap { CertificatePin($0) }
        self.publicAddressOnly = publicAddressOnly
    }

    /// Whether a connection led into a private network.
    var sawInternalAddress: Bool { internalAddressSeen.load(ordering: .relaxed) }

    /// Fails, and closes the connection, when it leads to the wrong place.
    func admit(_ channel: any Channel) -> EventLoopFuture<Void> {
        let verdict = checkAddress(channel).flatMap { self.checkCertificate(channel) }.flatMapThrowing {
            [stage] in
            guard stage?.proceed() ?? true else { throw CancellationError() }
        }
        // Closed one turn later: the pool must have heard of the refusal first.
        verdict.whenFailure { _ in channel.eventLoop.execute { channel.close(promise: nil) } }
        return verdict
    }

    /// Fails when a connection to `address` leads to the wrong place.
    func admit(address: SocketAddress?) throws(TransportFailure) {
        let isInternal = address?.ipAddress.flatMap { IPAddress($0) }?.isInternal ?? true
        if isInternal { internalAddressSeen.store(true, ordering: .relaxed) }
        guard !isInternal || !publicAddressOnly else {
            throw .internalAddress
        }
    }

    private func checkAddress(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture { try admit(address: channel.remoteAddress) }
    }

    /// Fails when the server at the other end of `channel` is the wrong one, or its key is weak.
    ///
    /// The chain is verified by now; plain connections have no certificate, and match no pin.
    private func checkCertificate(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.nioSSL_peerCertificate().flatMapErrorThrowing { _ in nil }.flatMapThrowing {
            try self.check($0)
        }
    }

    /// Fails when `certificate`, whose chain is verified, is the wrong one; plain connections have none.
    func check(_ certificate: NIOSSLCertificate?) throws {
        if let identity {
            guard let certificate, identity.isProven(by: certificate) else {
                throw TransportFailure.foreignServer
            }
        }
        if let certificate, let weakness = try CertificateStrength.weakness(of: certificate) {
            throw TransportFailure.insecure(weakness)
        }
        guard let pins else { return }
        guard let certificate, pins.contains(try CertificatePin(of: certificate)) else {
            throw TransportFailure.insecure("the server's key matches no pin")
        }
    }
}

extension TransportFailure {
    static let internalAddress = TransportFailure.insecure(
        "the server's metadata leads into a private network"
    )
    static let foreignServer = TransportFailure.insecure("the certificate is for another host name")
}
