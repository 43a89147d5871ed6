// SPDX-License-Identifier: MIT

import NIOSSL

/// A certificate and its private key.
package struct TLSIdentity: Sendable {
    /// One or more certificates, the server's own first.
    package let certificatePEM: String
    package let privateKeyPEM: String
    /// SHA-256 of the SubjectPublicKeyInfo in Base64, as `pins` want it; `nil` when not made here.
    package let publicKeyHash: String?

    package init(certificatePEM: String, privateKeyPEM: String, publicKeyHash: String? = nil) {
        self.certificatePEM = certificatePEM
        self.privateKeyPEM = privateKeyPEM
        self.publicKeyHash = publicKeyHash
    }

    /// What a server does with it.
    ///
    /// - Parameters:
    ///   - maximumVersion: the newest protocol version offered.
    ///   - clientAuthority: whose certificate every client has to show, as PEM; `nil`: none is asked for.
    /// - Returns: the settings of its connections.
    /// - Throws: that a certificate or the key cannot be read.
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
            // A client has no host name that could be checked.
            configuration.certificateVerification = .noHostnameVerification
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
