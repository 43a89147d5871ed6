// SPDX-License-Identifier: MIT

import AgentProtocol

/// The address at which an etcd member serves clients.
package struct EtcdEndpoint: Hashable, Sendable {
    /// The URL `https://host:port`.
    package let origin: String
    /// The host, with brackets around an IPv6 address.
    let host: String

    /// Whether the endpoint uses https.
    var isSecure: Bool { origin.utf8.starts(with: "https:".utf8) }

    /// Parses `https://host:port`, with or without a trailing slash.
    ///
    /// Plain `http` is allowed for this machine only.
    ///
    /// - Returns: `nil` for anything else. A URL with a path is not etcd's own address.
    package init?(_ text: String) {
        guard let address = ServerAddress(url: text), let scheme = address.scheme,
            scheme == "https" || scheme == "http", address.isPrivate
        else { return nil }
        let rest = text.utf8.dropFirst(scheme.utf8.count + 3)
        let path = rest.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard path.isEmpty || path.elementsEqual("/".utf8), !rest.contains(UInt8(ascii: "@")) else {
            return nil
        }
        // Another program may answer for the name `localhost`.
        guard scheme == "https" || address.place.host != "localhost" else { return nil }
        origin = address.origin
        host = address.place.host
    }
}

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
