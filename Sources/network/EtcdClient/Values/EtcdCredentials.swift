// SPDX-License-Identifier: MIT

/// The CAs to trust in etcd's certificates, and this host's own credentials.
package struct EtcdCredentials: Sendable {
    /// A certificate with its key, sent in the TLS handshake.
    package struct CertificateAndKey: Equatable, Sendable {
        /// The certificate chain as PEM, this host's own certificate first.
        package var certificates: [UInt8]
        /// The private key as PEM, not encrypted.
        package var key: [UInt8]

        package init(certificates: [UInt8], key: [UInt8]) {
            self.certificates = certificates
            self.key = key
        }
    }

    /// A user of etcd's own authentication.
    package struct User: Sendable {
        package var name: String
        /// The source of the password, called for each new token.
        ///
        /// The password is not stored.
        package var password: @Sendable () async throws(EtcdFailure) -> [UInt8]

        package init(
            name: String,
            password: @escaping @Sendable () async throws(EtcdFailure) -> [UInt8]
        ) {
            self.name = name
            self.password = password
        }
    }

    /// The only trusted CA certificates as PEM, or `nil` for the system's.
    package var authorities: [UInt8]?
    package var identity: CertificateAndKey?
    package var user: User?
    /// A function that reads the files again, or returns `nil` if they cannot be read.
    package var renewed: (@Sendable () -> EtcdCredentials?)?

    package init(authorities: [UInt8]? = nil, identity: CertificateAndKey? = nil, user: User? = nil) {
        self.authorities = authorities
        self.identity = identity
        self.user = user
    }

    /// Returns whether the certificates and the key equal those of `other`.
    func hasSameFiles(as other: EtcdCredentials) -> Bool {
        authorities == other.authorities && identity == other.identity
    }
}
