// SPDX-License-Identifier: MIT

import AgentProtocol

/// The address at which an etcd member serves clients.
package struct EtcdEndpoint: Hashable, Sendable {
    /// The URL `https://host:port`.
    package let origin: String
    /// The host, with brackets around an IPv6 address.
    package let host: String

    /// Whether the endpoint uses https.
    package var isSecure: Bool { origin.utf8.starts(with: "https:".utf8) }

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
        // The HTTP library would look up the name.
        guard scheme == "https" || !address.isLoopbackName else { return nil }
        origin = address.origin
        host = address.place.host
    }
}
