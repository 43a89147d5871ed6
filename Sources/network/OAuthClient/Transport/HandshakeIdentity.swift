// SPDX-License-Identifier: MIT

import NIOSSL

/// A certificate with its key for the TLS handshake of one request.
struct HandshakeIdentity: Sendable {
    /// The client's own certificate, followed by those that lead to its authority.
    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey

    /// Adds the certificate and key to a TLS configuration.
    func apply(to configuration: inout TLSConfiguration) {
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
    }

    /// Whether the key belongs to the certificate, as checked by the TLS library.
    var belongsTogether: Bool {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates([])
        apply(to: &configuration)
        return (try? NIOSSLContext(configuration: configuration)) != nil
    }
}
