// SPDX-License-Identifier: MIT

import NIOCore
import NIOSSL

/// A certificate and its private key.
package struct TLSIdentity: Sendable {
    /// One or more certificates, the server's own first.
    package let certificatePEM: String
    package let privateKeyPEM: String
    /// The SHA-256 of the SubjectPublicKeyInfo in Base64, as in `pins`, or `nil` for a certificate from
    /// elsewhere.
    package let publicKeyHash: String?

    package init(certificatePEM: String, privateKeyPEM: String, publicKeyHash: String? = nil) {
        self.certificatePEM = certificatePEM
        self.privateKeyPEM = privateKeyPEM
        self.publicKeyHash = publicKeyHash
    }

    /// Adds TLS to a new connection of a server with this identity.
    package func secure(_ channel: any Channel) throws {
        let context = try serverContext(maximumVersion: nil, clientAuthority: nil)
        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
    }

    /// Creates the TLS settings of a server with this identity.
    ///
    /// - Parameters:
    ///   - maximumVersion: the maximum protocol version offered.
    ///   - clientAuthority: the CA that must have issued the client's certificate, as PEM, or `nil` to
    ///     require none.
    /// - Returns: the settings of the server's connections.
    /// - Throws: an error of NIOSSL if a certificate or the key cannot be parsed.
    func serverContext(maximumVersion: TLSVersion?, clientAuthority: String?) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificatePEM.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(privateKeyPEM.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv1
        configuration.maximumTLSVersion = maximumVersion
        if let clientAuthority {
            let authority = try NIOSSLCertificate.fromPEMBytes(Array(clientAuthority.utf8))
            configuration.trustRoots = .certificates(authority)
            // A client has no host name to verify.
            configuration.certificateVerification = .noHostnameVerification
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
