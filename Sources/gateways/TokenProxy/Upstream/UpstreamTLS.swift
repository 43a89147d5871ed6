// SPDX-License-Identifier: MIT

import AgentProtocol
import ForwardProxy
import NIOCore
import NIOSSL
import ServerCertificates
import Text

/// The TLS settings of one upstream.
///
/// Certificates are always verified, and TLS 1.2 is the minimum. The system's CAs and those of the
/// configuration are trusted.
struct UpstreamTLS: Sendable {
    private let context: NIOSSLContext
    private let identity: ServerIdentity
    private let serverName: String?
    /// The accepted public keys, or `nil` for any key.
    private let pins: [CertificatePin]?

    /// Prepares TLS for an upstream.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if the CA certificates cannot be parsed.
    init(_ rules: ProxyRules) throws(AgentError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        // The other end of a connection may be a forward proxy, so ``ServerIdentity`` compares an IP address.
        configuration.certificateVerification =
            IPAddress(rules.upstream.host) == nil ? .fullVerification : .noHostnameVerification
        configuration.applicationProtocols = ["http/1.1"]
        do {
            if let text = rules.trust.authorities {
                let roots = try NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
                configuration.additionalTrustRoots = [.certificates(roots)]
            }
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw AgentError(.misconfigured, "ca_file contains no PEM certificate")
        }
        pins = rules.trust.pins.isEmpty ? nil : rules.trust.pins.compactMap { CertificatePin($0) }
        identity = ServerIdentity(host: rules.upstream.host)
        if case .name = identity { serverName = rules.upstream.host } else { serverName = nil }
    }

    /// Returns the tunnel through the forward proxy of `rules`, or `nil` if there is none.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if TLS with the forward proxy cannot be
    ///   prepared.
    static func tunnel(_ rules: ProxyRules) throws(AgentError) -> ProxyTunnel? {
        guard let proxy = rules.forwardProxy else { return nil }
        do {
            let roots = try rules.trust.authorities.map { try NIOSSLCertificate.fromPEMBytes(Array($0.utf8)) }
            return try ProxyTunnel(
                proxy,
                credentials: rules.forwardProxyCredentials,
                authorities: roots ?? []
            )
        } catch {
            throw AgentError(.misconfigured, "cannot start TLS with the proxy \(proxy)")
        }
    }

    /// The message about a certificate for another host.
    static let otherHost = "the upstream's certificate is for another host name"

    /// Adds TLS to a new connection.
    ///
    /// - Returns: the handler that knows the upstream's certificate after the handshake.
    func add(to channel: any Channel) throws -> NIOSSLClientHandler {
        let handler = try NIOSSLClientHandler(context: context, serverHostname: serverName)
        try channel.pipeline.syncOperations.addHandler(handler)
        return handler
    }

    /// Returns the reason to reject a connection whose certificate chain is verified, or `nil` to accept it.
    func rejectionReason(to certificate: NIOSSLCertificate?) -> String? {
        do {
            guard let certificate else { return "the upstream sent no certificate" }
            guard identity.isProven(by: certificate) else { return UpstreamTLS.otherHost }
            if let weakness = try CertificateStrength.weakness(of: certificate) { return weakness }
            guard try pins?.contains(CertificatePin(of: certificate)) ?? true else {
                return "the upstream's key matches no pin"
            }
            return nil
        } catch {
            return "cannot parse the upstream's certificate"
        }
    }
}
