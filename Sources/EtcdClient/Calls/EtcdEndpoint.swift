// SPDX-License-Identifier: MIT

import AgentProtocol

/// Where a member of an etcd answers its clients.
package struct EtcdEndpoint: Hashable, Sendable {
    /// `https://host:port`.
    package let origin: String
    /// An IPv6 address in brackets.
    let host: String

    /// Whether it is https.
    var isSecure: Bool { origin.utf8.starts(with: "https:".utf8) }

    /// Takes `https://host:port`, with a slash at the end or without; plain `http` for this machine alone.
    ///
    /// - Returns: `nil` for anything else: with a path, it is not etcd's own address.
    package init?(_ text: String) {
        guard let address = ServerAddress(url: text), let scheme = address.scheme,
            scheme == "https" || scheme == "http", address.isPrivate
        else { return nil }
        let rest = text.utf8.dropFirst(scheme.utf8.count + 3)
        let path = rest.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard path.isEmpty || path.elementsEqual("/".utf8), !rest.contains(UInt8(ascii: "@")) else {
            return nil
        }
        // `localhost` is a name that somebody may answer for.
        guard scheme == "https" || address.place.host != "localhost" else { return nil }
        origin = address.origin
        host = address.place.host
    }
}

/// What opens etcd's door: whom to believe, and who we are.
package struct EtcdCredentials: Sendable {
    /// A certificate with its key, shown in the handshake.
    package struct Identity: Equatable, Sendable {
        /// PEM; ours first.
        package var certificates: [UInt8]
        /// PEM, not encrypted.
        package var key: [UInt8]

        package init(certificates: [UInt8], key: [UInt8]) {
            self.certificates = certificates
            self.key = key
        }
    }

    /// A user of etcd's own.
    package struct User: Sendable {
        package var name: String
        /// Asked whenever a new token is needed, and not kept.
        package var password: @Sendable () async throws(EtcdFailure) -> [UInt8]

        package init(
            name: String,
            password: @escaping @Sendable () async throws(EtcdFailure) -> [UInt8]
        ) {
            self.name = name
            self.password = password
        }
    }

    /// PEM, the only authorities that are believed; `nil`: the system's.
    package var authorities: [UInt8]?
    package var identity: Identity?
    package var user: User?
    /// The door as its files are now; `nil`: they cannot be read.
    package var renewed: (@Sendable () -> EtcdCredentials?)?

    package init(authorities: [UInt8]? = nil, identity: Identity? = nil, user: User? = nil) {
        self.authorities = authorities
        self.identity = identity
        self.user = user
    }

    /// Whether the certificates and the key are those of `other`.
    func hasSameFiles(as other: EtcdCredentials) -> Bool {
        authorities == other.authorities && identity == other.identity
    }
}
