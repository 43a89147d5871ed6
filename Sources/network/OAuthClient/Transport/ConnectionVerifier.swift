// SPDX-License-Identifier: MIT

import NIOCore
import NIOSSL
import ServerCertificates
import ServerSettings
import Synchronization
import Text

/// A check of each new connection, after the TLS handshake and before the request.
///
/// A refused connection never carries a byte of the request.
final class ConnectionVerifier: Sendable {
    /// The identity that the server must prove, or `nil` if the server does not use TLS.
    private let identity: ServerIdentity?
    /// The accepted keys, or `nil` to accept any key.
    private let pins: [CertificatePin]?
    private let publicAddressOnly: Bool
    private let internalAddressSeen = Atomic(false)
    private let stage: ExchangeAttempt?

    /// Creates a gate for connections to the host of `url`.
    ///
    /// With `stage`, the gate is for the one connection of one attempt, and refuses the connection if that
    /// attempt was given up.
    init(to url: EndpointURL, pins: [String], publicAddressOnly: Bool, stage: ExchangeAttempt? = nil) {
        identity = url.serverIdentity
        self.stage = stage
        self.pins = pins.isEmpty ? nil : pins.compactMap { CertificatePin($0) }
        self.publicAddressOnly = publicAddressOnly
    }

    /// Whether a connection led into a private network.
    var sawInternalAddress: Bool { internalAddressSeen.load(ordering: .relaxed) }

    /// Checks the address and the certificate of `channel`, and closes the connection if either is wrong.
    func admit(_ channel: any Channel) -> EventLoopFuture<Void> {
        let verdict = checkAddress(channel).flatMap { self.checkCertificate(channel) }.flatMapThrowing {
            [stage] in
            guard stage?.proceed() ?? true else { throw CancellationError() }
        }
        // Close the channel one turn later: the pool must learn of the failure first.
        verdict.whenFailure { _ in channel.eventLoop.execute { channel.close(promise: nil) } }
        return verdict
    }

    /// Checks the address of a connection.
    ///
    /// - Throws: `insecure` if `address` is in a private network and only public addresses are allowed. An
    ///   unknown address counts as private.
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

    /// Checks that the server at the other end of `channel` is the right one and that its key is strong.
    ///
    /// The chain is already verified. A plain connection has no certificate and matches no pin.
    private func checkCertificate(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.nioSSL_peerCertificate().flatMapErrorThrowing { _ in nil }.flatMapThrowing {
            try self.check($0)
        }
    }

    /// Checks `certificate`, whose chain is already verified.
    ///
    /// Plain connections have none.
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
        "the server's metadata points into a private network"
    )
    static let foreignServer = TransportFailure.insecure("the certificate is for another host name")
}
