// SPDX-License-Identifier: MIT

import AgentProtocol
import ForwardProxy
import NIOCore
import NIOSSL
import ServerCertificates

/// How one upstream is spoken to: verification always on, TLS 1.2 at least, the system's authorities and ours.
struct UpstreamTLS: Sendable {
    private let context: NIOSSLContext
    private let identity: ServerIdentity
    private let serverName: String?
    /// `nil`: any key will do.
    private let pins: [CertificatePin]?

    /// Prepares TLS for an upstream.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if the authorities cannot be read.
    init(_ rules: ProxyRules) throws(AgentError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = .fullVerification
        configuration.applicationProtocols = ["http/1.1"]
        do {
            if let text = rules.trust.authorities {
                let roots = try NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
                configuration.additionalTrustRoots = [.certificates(roots)]
            }
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw AgentError(.misconfigured, "ca_file holds no PEM certificate")
        }
        pins = rules.trust.pins.isEmpty ? nil : rules.trust.pins.compactMap { CertificatePin($0) }
        identity = ServerIdentity(host: rules.upstream.host)
        if case .name = identity { serverName = rules.upstream.host } else { serverName = nil }
    }

    /// The way through the forward proxy of `rules`; `nil` if there is none.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if TLS cannot begin with it.
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
            throw AgentError(.misconfigured, "TLS with the proxy \(proxy) cannot begin")
        }
    }

    /// What a certificate for somebody else is called.
    static let otherHost = "the upstream's certificate is for another host name"

    /// Adds TLS to a new connection.
    ///
    /// - Returns: what knows the upstream's certificate after the handshake.
    func add(to channel: any Channel) throws -> NIOSSLClientHandler {
        let handler = try NIOSSLClientHandler(context: context, serverHostname: serverName)
        try channel.pipeline.syncOperations.addHandler(handler)
        return handler
    }

    /// Why a connection whose chain is verified is not used all the same; `nil`: it is.
    func objection(to certificate: NIOSSLCertificate?) -> String? {
        do {
            guard let certificate else { return "the upstream shows no certificate" }
            guard identity.isProven(by: certificate) else { return UpstreamTLS.otherHost }
            if let weakness = try CertificateStrength.weakness(of: certificate) { return weakness }
            guard try pins?.contains(CertificatePin(of: certificate)) ?? true else {
                return "the upstream's key matches no pin"
            }
            return nil
        } catch {
            return "the upstream's certificate cannot be read"
        }
    }
}
